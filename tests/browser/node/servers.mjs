// What stands behind a host: a script of results, or the server at a URL.
import { readFileSync } from "node:fs";

// Returns the server that a wish names. Each call of the card is noted in `calls`.
export function serverOf(wish, calls) {
  return new Scripted(wish, calls);
}

// Answers each tool from a list of results, whose last one is repeated.
class Scripted {
  constructor({ html, replies = {} }, calls) {
    Object.assign(this, { html: readFileSync(html, "utf8"), replies: structuredClone(replies), calls });
  }

  start() {
    return { html: this.html };
  }

  script(replies) {
    Object.assign(this.replies, replies);
  }

  async call({ name, arguments: given }) {
    this.calls.push({ name, arguments: given });
    const some = this.replies[name];
    const reply = some?.length > 1 ? some.shift() : some?.[0];
    if (!reply || reply.denied) throw new Error(reply?.denied ?? `no reply to ${name}`);
    return reply;
  }
}
