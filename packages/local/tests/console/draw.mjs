// Reads scopes as the page gets them, one JSON array, and writes their drawings.
import { readFileSync, writeSync } from "node:fs";
import { drawn } from "./layout.js";

writeSync(1, JSON.stringify(JSON.parse(readFileSync(0, "utf-8")).map(drawn)));
