// Where everything of a state machine is drawn: boxes, nested ones too, and the paths between them. Pure.
//
// dagre lays out one scope; this nests the scopes of Map and Parallel states, and lets error handlers share a line.
// Coordinates are absolute, in pixels from the upper left corner.

import dagre from "./dagre.esm.js";

const LETTER = 7.4; // of a name's letter, at most
const NARROWEST = 108, WIDEST = 232, HEIGHT = 46, DOT = 18;
const PADDING = 18, MARGIN = 24, LOOP = 16, CORNER = 14;
const HEAD = 40; // above the inside of a container
const SIDE_GAP = 28, RANK_GAP = 40, EDGE_GAP = 12;
const FEW = 2; // handlers of one target that keep lines of their own

// Draws a scope as the server describes it: its states, with their inner scopes, and the ways between them.
export function drawn(scope) {
  const { width, height, ...parts } = moved(scopeOf(scope, null), MARGIN, MARGIN);
  return { width: width + 2 * MARGIN, height: height + 2 * MARGIN, ...parts, edges: parts.edges.map((one) => ({ ...one, d: curve(one.points) })) };
}

function scopeOf(scope, parent) {
  const inner = new Map(scope.states.filter((one) => one.scopes.length).map((one) => [one.name, insideOf(one)]));
  const sizes = new Map(scope.states.map((one) => [one.name, inner.get(one.name) ?? boxOf(one)]));
  const { places, routes, width, height } = arranged(sizes, scope.ways, scope.start);
  const nodes = scope.states.map(({ name, type, action }) => ({ name, type, action, parent, ...places.get(name), w: sizes.get(name).width, h: sizes.get(name).height }));
  const parts = [...inner].map(([name, one]) => moved(one, places.get(name).x, places.get(name).y));
  const edges = scope.ways.map((way) => ({ ...way, points: routes.get(keyOf(way)) ?? loop(places.get(way.source), sizes.get(way.source)) }));
  return together(width, height, { nodes, frames: [], edges }, ...parts);
}

const together = (width, height, ...parts) => ({ width, height, nodes: parts.flatMap((one) => one.nodes), frames: parts.flatMap((one) => one.frames), edges: parts.flatMap((one) => one.edges) });

function boxOf({ name, type }) {
  if (type === "Start" || type === "End") return { width: DOT, height: DOT };
  return { width: Math.min(Math.max(name.length * LETTER + 52, NARROWEST), WIDEST), height: HEIGHT };
}

// Draws the branches of a container side by side below its head; the size is the container's own.
function insideOf(state) {
  const scopes = state.scopes.map((one) => scopeOf(one, state.name));
  const tallest = Math.max(...scopes.map((one) => one.height));
  let left = PADDING;
  const frames = [], parts = [];
  for (const one of scopes) {
    frames.push({ parent: state.name, x: left, y: HEAD, w: one.width + 2 * PADDING, h: tallest + 2 * PADDING });
    parts.push(moved(one, left + PADDING, HEAD + PADDING));
    left += one.width + 3 * PADDING;
  }
  return together(Math.max(left, boxOf(state).width), HEAD + tallest + 3 * PADDING, { nodes: [], frames, edges: [] }, ...parts);
}

// A way from a state to itself.
function loop({ x, y }, { width, height }) {
  const right = x + width, middle = y + height / 2;
  return [[0, -9], [LOOP, -9], [LOOP, 9], [0, 9]].map(([aside, below]) => ({ x: right + aside, y: middle + below }));
}

function moved(drawing, x, y) {
  const to = (one) => ({ ...one, x: one.x + x, y: one.y + y });
  return { ...drawing, nodes: drawing.nodes.map(to), frames: drawing.frames.map(to), edges: drawing.edges.map((one) => ({ ...one, points: one.points.map(to) })) };
}

// Ways of one kind between the same states share a path.
const keyOf = ({ source, target, kind }) => JSON.stringify([source, target, kind === "catch"]);

// Lays out one scope. Where several states have one handler, it is done again with a line that they share.
function arranged(sizes, ways, start) {
  const links = [...new Map(ways.filter((way) => way.source !== way.target).map((way) => [keyOf(way), { key: keyOf(way), source: way.source, target: way.target, weight: way.kind === "catch" ? 1 : 2 }])).values()];
  const apart = laidOut(sizes, links, start);
  const rails = railsOf(ways, apart);
  return rails.size ? laidOut(sizes, links, start, rails) : apart;
}

// Returns for each way to a shared handler the points that its line goes through: one for each rank that has such states.
function railsOf(ways, { places }) {
  const groups = new Map();
  for (const way of ways) {
    if (way.kind !== "catch" || places.get(way.source).y >= places.get(way.target).y) continue;
    if (!groups.has(way.target)) groups.set(way.target, new Map());
    groups.get(way.target).set(keyOf(way), places.get(way.source));
  }
  const rails = new Map();
  for (const [target, sources] of groups) {
    if (sources.size <= FEW) continue;
    const ranks = [...new Set([...sources.values()].map((one) => one.middle))].sort((one, other) => one - other);
    const names = ranks.map((rank) => JSON.stringify(["rail", target, rank]));
    for (const [key, source] of sources) rails.set(key, names.slice(ranks.indexOf(source.middle)));
  }
  return rails;
}

function laidOut(sizes, links, start, rails = new Map()) {
  const graph = new dagre.graphlib.Graph({ multigraph: true });
  graph.setGraph({ rankdir: "TB", nodesep: SIDE_GAP, ranksep: RANK_GAP, edgesep: EDGE_GAP });
  // What closes a loop is found from the first one on.
  for (const name of [start, ...sizes.keys()]) if (sizes.has(name)) graph.setNode(name, { ...sizes.get(name) });
  for (const name of [...rails.values()].flat()) graph.setNode(name, { width: 1, height: 1 });
  for (const { key, source, target, weight } of links) for (const [from, to] of legs(key, source, target, rails)) graph.setEdge(from, to, { weight }, nameOf(key, from, rails));
  dagre.layout(graph);
  const places = new Map([...sizes].map(([name, { width, height }]) => { const { x, y } = graph.node(name); return [name, { x: x - width / 2, y: y - height / 2, middle: y }]; }));
  const bands = new Map();
  for (const { middle, y } of places.values()) bands.set(Math.round(middle), Math.max(bands.get(Math.round(middle)) ?? 0, middle - y));
  const routes = new Map(links.map(({ key, source, target }) => [key, routeOf(graph, bands, legs(key, source, target, rails), (from) => nameOf(key, from, rails))]));
  const { width, height } = graph.graph();
  return { places, routes, width, height };
}

function legs(key, source, target, rails) {
  const stops = [source, ...(rails.get(key) ?? []), target];
  return stops.slice(1).map((stop, place) => [stops[place], stop]);
}

// A leg between the points of a shared line is one for all.
const nameOf = (key, from, rails) => (rails.has(key) && rails.get(key).includes(from) ? "shared" : key);

// Returns the points of a way: from border to border, straight down beside the boxes of each rank that it passes.
function routeOf(graph, bands, steps, name) {
  const passed = steps.flatMap(([from, to], place) => [...(place ? [graph.node(from)] : []), ...graph.edge(from, to, name(from)).points.slice(1, -1)]);
  const source = graph.node(steps[0][0]), target = graph.node(steps.at(-1)[1]);
  const down = source.y < target.y ? 1 : -1;
  const beside = passed.flatMap(({ x, y }) => (bands.has(Math.round(y)) ? [-1, 1].map((end) => ({ x, y: y + end * down * bands.get(Math.round(y)) })) : []));
  return [border(source, passed[0], down), ...beside, border(target, passed.at(-1), -down)];
}

// Returns the point of a box's lower border (1) or upper one (-1) that is nearest to another point.
function border({ x, y, width, height }, other, side) {
  const most = Math.max(width / 2 - CORNER, 0);
  return { x: x + Math.min(Math.max(other.x - x, -most), most), y: y + side * height / 2 };
}

// An SVG path through the points, which leaves and enters upright.
function curve(points) {
  const pair = (x, y) => `${x.toFixed(1)},${y.toFixed(1)}`;
  const bends = points.slice(1).map((one, place) => {
    const before = points[place], middle = (before.y + one.y) / 2;
    return Math.abs(before.x - one.x) < 0.5 || before.y === one.y ? `L${pair(one.x, one.y)}` : `C${pair(before.x, middle)} ${pair(one.x, middle)} ${pair(one.x, one.y)}`;
  });
  return [`M${pair(points[0].x, points[0].y)}`, ...bends].join(" ");
}
