// The data of the page, unpacked: lookups, the dependencies of a task or step, and the memory curve. No drawing here.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const looks = data.looks;
const FRAGMENT = 0, MICRO = 1, BEGIN = 2, END = 3, PATTERN = 4, TASK = 5; // a task's numbers in the flat array
const S = { kind: 0, label: 1, begin: 2, end: 3, bytes: 4, flops: 5, after: 6, message: 7 }; // a step's
const M = { kind: 0, over: 1, event: 2, peer: 3, cause: 4 }; // a message's

function unpackClass(view, one) {
  one.count = one.tasks.length / TASK;
  one.at = (task, field) => one.tasks[task * TASK + field];
  one.fragment = task => one.fragments[one.at(task, FRAGMENT)];
  one.taskOf = one.fragments.map(() => []); // fragment, micro-batch -> task
  one.longest = 0;
  for (let task = 0; task < one.count; ++task) {
    one.taskOf[one.at(task, FRAGMENT)][one.at(task, MICRO)] = task;
    one.longest = Math.max(one.longest, one.at(task, END) - one.at(task, BEGIN));
  }
  one.order = Array.from({ length: one.count }, (_, task) => task).sort((a, b) => one.at(a, BEGIN) - one.at(b, BEGIN));
  one.messages = new Map(); // event and kind -> [fragment, step]
  one.fragments.forEach((fragment, f) => {
    fragment.talks = [];
    fragment.early = fragment.late = 0;
    fragment.steps.forEach((step, s) => {
      const message = step[S.message];
      if (!message) return;
      fragment.talks.push(s);
      fragment.early = Math.min(fragment.early, step[S.begin]);
      fragment.late = Math.max(fragment.late, step[S.end]);
      one.messages.set(message[M.event] + message[M.kind], [f, s]);
    });
    fragment.waits = new Map(); // step -> runs
  });
  for (const run of one.waits) {
    const waits = one.fragments[run[0]].waits;
    waits.set(run[1], [...(waits.get(run[1]) || []), run]);
  }
}

data.views.forEach(view => view.classes.forEach(one => unpackClass(view, one)));
const wholeSpan = Math.max(1, ...data.views.map(view => view.span));

const phaseOf = fragment => looks.phases[fragment.phase];

function taskName(one, task) {
  const fragment = one.fragment(task);
  return phaseOf(fragment).perMicro ? `${fragment.name}:${one.at(task, MICRO)}` : fragment.name;
}

const stageName = one => `stage ${one.stage}`;

function placeOf(label) {
  return label[2] ? `${label[2]}:${label[3]}:${label[4]}` : "";
}

/** Tasks of a class that touch [from, to], by begin. `slack`: how far messages of a task may lie outside it. */
function* visibleTasks(one, from, to, slack = 0) {
  const order = one.order, first = from - one.longest - slack;
  let low = 0, high = order.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (one.at(order[middle], BEGIN) < first) low = middle + 1;
    else high = middle;
  }
  for (; low < order.length && one.at(order[low], BEGIN) <= to + slack; ++low) yield order[low];
}

/** The other end of a message: {c, task, step}, or null. */
function otherEnd(view, one, task, message) {
  const peer = view.classes[message[M.peer]];
  const found = peer && peer.messages.get(message[M.event] + (message[M.kind] === "send" ? "receive" : "send"));
  if (!found) return null;
  const other = peer.taskOf[found[0]][phaseOf(peer.fragments[found[0]]).perMicro ? one.at(task, MICRO) : 0];
  return other === undefined ? null : { c: message[M.peer], task: other, step: found[1] };
}

/** What a task or step waits for and who waits for it: [{c, task, step?, why}]. `step` undefined: the task as a whole. */
function dependenciesOf(view, c, task, step) {
  const one = view.classes[c], fragment = one.fragment(task), before = [], after = [];
  const addMessages = steps => {
    for (const s of steps) {
      const message = fragment.steps[s][S.message];
      const other = message && message[M.peer] >= 0 && otherEnd(view, one, task, message);
      if (other) (message[M.kind] === "receive" ? before : after).push({ ...other, why: `message from ${stageName(view.classes[other.c])}` });
    }
  };
  const addWaits = s => {
    for (const run of fragment.waits.get(s) || []) {
      const micro = one.at(task, MICRO);
      if (micro < run[5] || micro > run[6]) continue;
      const on = one.taskOf[run[2]][micro - run[4]];
      if (on !== undefined) before.push({ c, task: on, step: run[3], why: "uses its memory again" });
    }
  };
  if (step === undefined) {
    if (task > 0) before.push({ c, task: task - 1, why: "runs before it" });
    if (task + 1 < one.count) after.push({ c, task: task + 1, why: "" });
    addMessages(fragment.talks);
    return { before, after };
  }
  const chosen = fragment.steps[step];
  for (const s of chosen[S.after]) before.push({ c, task, step: s, why: "its value or memory" });
  fragment.steps.forEach((other, s) => other[S.after].includes(step) && after.push({ c, task, step: s, why: "" }));
  addMessages([step]);
  addWaits(step);
  const transfers = chosen[S.message] && chosen[S.message][M.peer] >= 0;
  if (task > 0 && !transfers && !chosen[S.after].length) before.push({ c, task: task - 1, why: "runs before it" });
  return { before, after };
}

/** Live bytes over time: times[i], kinds[k][i] from there on, total[i]. Cached: it is wanted again at each redraw. */
function memoryOf(one) {
  if (one.curve) return one.curve;
  const events = [];
  for (let task = 0; task < one.count; ++task) {
    const begin = one.at(task, BEGIN), pattern = one.patterns[one.at(task, PATTERN)];
    for (let i = 0; i < pattern.length; i += 3) events.push([begin + pattern[i], pattern[i + 1], pattern[i + 2]]);
  }
  events.sort((a, b) => a[0] - b[0] || a[2] - b[2]);
  const length = events.length + 1, kinds = one.always.map(() => new Float64Array(length));
  const times = new Float64Array(length), total = new Float64Array(length);
  kinds.forEach((kind, k) => (kind[0] = one.always[k] + one.atStart[k]));
  for (let i = 0; i < length; ++i) {
    if (i) {
      for (const kind of kinds) kind[i] = kind[i - 1];
      kinds[events[i - 1][1]][i] += events[i - 1][2];
      times[i] = events[i - 1][0];
    } else {
      times[i] = -Infinity;
    }
    for (const kind of kinds) total[i] += kind[i];
  }
  return (one.curve = { times, kinds, total });
}

/** Index into the curve's arrays that holds at a time. */
function curveAt(curve, time) {
  let low = 0, high = curve.times.length - 1;
  while (low < high) {
    const middle = (low + high + 1) >> 1;
    if (curve.times[middle] <= time) low = middle;
    else high = middle - 1;
  }
  return low;
}

function humanTime(ns, digits = 3) {
  const size = Math.abs(ns);
  const [unit, name] = size >= 1e9 ? [1e9, "s"] : size >= 1e6 ? [1e6, "ms"] : size >= 1e3 ? [1e3, "µs"] : [1, "ns"];
  return ns === 0 ? "0" : `${Number((ns / unit).toPrecision(digits))} ${name}`;
}

function humanBytes(bytes) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
  let unit = 0;
  for (; bytes >= 1024 && unit < 5; ++unit) bytes /= 1024;
  return `${Number(bytes.toPrecision(unit ? 3 : 15))} ${units[unit]}`;
}

function humanFlops(flops) {
  const units = ["", "K", "M", "G", "T", "P"];
  let unit = 0;
  for (; flops >= 1000 && unit < 5; ++unit) flops /= 1000;
  return `${Number(flops.toPrecision(3))} ${units[unit]}flop`;
}
