// The page: what is visible and chosen, mouse and keys, tooltip, tables. Text goes in as text, never as HTML.

const state = { from: 0, to: wholeSpan, chosen: 0, hover: null, mostMemory: 1 };
const element = id => document.getElementById(id);
const pictures = [];
let queued = false;

function make(tag, words, attributes = {}) {
  const node = document.createElement(tag);
  if (words !== undefined) node.textContent = words;
  for (const [name, value] of Object.entries(attributes)) node.setAttribute(name, value);
  return node;
}

function redraw() {
  if (queued) return;
  queued = true;
  requestAnimationFrame(() => {
    queued = false;
    const classOf = view => view.classes[Math.min(state.chosen, view.classes.length - 1)];
    state.mostMemory = Math.max(...data.views.map(view => Math.max(classOf(view).arena, classOf(view).peak.bytes)));
    for (const picture of pictures) picture.draw(state);
    element("range").textContent = `${humanTime(state.from, 4)} to ${humanTime(state.to, 4)}`;
  });
}

function show(from, to) {
  const margin = wholeSpan * 0.02, length = Math.min(Math.max(to - from, 10), wholeSpan + 2 * margin);
  from = Math.min(Math.max(from, -margin), wholeSpan + margin - length);
  state.from = from;
  state.to = from + length;
  redraw();
}

const showAll = () => show(0, wholeSpan * 1.005);

function zoom(factor, at = (state.from + state.to) / 2) {
  show(at - (at - state.from) * factor, at + (state.to - at) * factor);
}

const move = share => show(state.from + (state.to - state.from) * share, state.to + (state.to - state.from) * share);

function choose(c) {
  const most = Math.max(...data.views.map(view => view.classes.length));
  state.chosen = Math.min(Math.max(c, 0), most - 1);
  element("class").value = String(state.chosen);
  fillTables();
  redraw();
}

/** The lines of a tooltip: [heading, [[name, words]...]]. */
function describe(hover) {
  const view = data.views[hover.view], one = view.classes[hover.c];
  if (hover.memory !== undefined) {
    const curve = memoryOf(one), at = curveAt(curve, hover.memory);
    const kinds = curve.kinds.map((kind, k) => [looks.memory[k].name, kind[at]]).filter(([, bytes]) => bytes > 0).reverse();
    return [`${humanBytes(curve.total[at])} live at ${humanTime(hover.memory, 4)}`, kinds.map(([name, bytes]) => [name, humanBytes(bytes)])];
  }
  const fragment = one.fragment(hover.task), look = phaseOf(fragment), begin = one.at(hover.task, BEGIN), name = taskName(one, hover.task);
  const { before } = dependenciesOf(view, hover.c, hover.task, hover.step), lines = [];
  const nameOf = box => {
    const other = view.classes[box.c], where = box.c === hover.c ? "" : ` of ${stageName(other)}`;
    return `${box.step === undefined ? "" : `${view.labels[other.fragment(box.task).steps[box.step][S.label]][0]} in `}${taskName(other, box.task)}${where} (${box.why})`;
  };
  let heading;
  if (hover.step === undefined) {
    heading = `${name}: ${look.word}${look.perMicro ? ` of micro-batch ${one.at(hover.task, MICRO)}` : ""}${fragment.chunk ? `, chunk ${fragment.chunk}` : ""}`;
    lines.push(["stage", `${one.stage} (${one.ranks})`]);
    lines.push([view.origin, `${humanTime(begin, 5)} to ${humanTime(one.at(hover.task, END), 5)}, ${humanTime(one.at(hover.task, END) - begin)}`]);
    lines.push(["steps", String(fragment.steps.length)]);
    lines.push(["computes", humanFlops(fragment.steps.reduce((sum, step) => sum + step[S.flops], 0))]);
  } else {
    const step = fragment.steps[hover.step], label = view.labels[step[S.label]], message = step[S.message];
    heading = label[0];
    lines.push(["step", `${hover.step} of ${name}, ${message ? `${message[M.kind]} ${message[M.over]}` : step[S.kind].toLowerCase()}`]);
    if (label[1]) lines.push(["layer", label[1]]);
    if (placeOf(label)) lines.push(["source", placeOf(label)]);
    lines.push(["stage", `${one.stage} (${one.ranks})`]);
    lines.push([view.origin, `${humanTime(begin + step[S.begin], 5)} to ${humanTime(begin + step[S.end], 5)}, ${humanTime(step[S.end] - step[S.begin])}`]);
    lines.push([message ? "message" : "memory", `${humanBytes(step[S.bytes])}${message ? "" : " read and written"}`]);
    if (step[S.flops]) lines.push(["computes", humanFlops(step[S.flops])]);
    if (message && message[M.cause]) lines.push(["cause", message[M.cause]]);
  }
  before.slice(0, 5).forEach((box, i) => lines.push([i ? "" : "waits for", nameOf(box)]));
  if (before.length > 5) lines.push(["", `and ${before.length - 5} more`]);
  return [heading, lines];
}

function hoverOver(hover, x, y) {
  state.hover = hover && (hover.task !== undefined || hover.memory !== undefined) ? hover : null;
  const tooltip = element("tooltip");
  tooltip.hidden = !state.hover;
  if (state.hover) {
    const [heading, lines] = describe(state.hover), list = make("dl");
    for (const [name, words] of lines) list.append(make("dt", name), make("dd", words));
    tooltip.replaceChildren(make("strong", heading), list);
    const box = tooltip.getBoundingClientRect();
    tooltip.style.left = `${Math.max(4, x + 16 + box.width > innerWidth ? x - box.width - 12 : x + 16)}px`;
    tooltip.style.top = `${Math.max(4, y + 16 + box.height > innerHeight ? y - box.height - 12 : y + 16)}px`;
  }
  if (state.hover && state.hover.memory !== undefined) state.hover = null;
  redraw();
}

/** For keys: chooses a task or step of the class, brings it into sight and says what it is. */
function hoverBox(hover) {
  const one = data.views[hover.view].classes[hover.c], begin = one.at(hover.task, BEGIN), step = hover.step === undefined ? null : one.fragment(hover.task).steps[hover.step];
  const from = begin + (step ? step[S.begin] : 0), to = step ? begin + step[S.end] : one.at(hover.task, END);
  if (step && (one.at(hover.task, END) - begin) < (state.to - state.from) / 4) show(begin - (one.at(hover.task, END) - begin) * 0.2, one.at(hover.task, END) + (one.at(hover.task, END) - begin) * 0.2);
  else if (from < state.from || to > state.to) show(from - (state.to - state.from) / 2, from + (state.to - state.from) / 2);
  state.hover = hover;
  const picture = pictures[hover.view];
  picture.draw(state);
  const area = picture.canvas.getBoundingClientRect(), box = picture.rectangles(hover).pop();
  hoverOver(hover, area.left + box.x + box.width, area.top + box.y + box.height);
  const [heading, lines] = describe(hover);
  element("spoken").textContent = [heading, ...lines.map(line => line.join(" "))].join(". ");
}

function stepThrough(view, by, steps) {
  const c = Math.min(state.chosen, data.views[view].classes.length - 1), one = data.views[view].classes[c];
  const known = state.hover && state.hover.view === view && state.hover.c === c ? state.hover : null;
  if (!one.count) return;
  if (!steps) {
    const first = one.order.find(task => one.at(task, END) > state.from) ?? 0;
    hoverBox({ view, c, task: known ? Math.min(Math.max(known.task + by, 0), one.count - 1) : first });
    return;
  }
  if (!known) return;
  let { task, step } = known;
  step = step === undefined ? (by > 0 ? 0 : -1) : step + by;
  if (step >= one.fragment(task).steps.length || step < 0) {
    task = Math.min(Math.max(task + by, 0), one.count - 1);
    step = by > 0 ? 0 : one.fragment(task).steps.length - 1;
  }
  hoverBox({ view, c, task, step });
}

function zoomTo(hover) {
  const one = data.views[hover.view].classes[hover.c], begin = one.at(hover.task, BEGIN), length = one.at(hover.task, END) - begin;
  choose(hover.c);
  show(begin - length * 0.05, begin + length * 1.05);
}

function listen(picture, view) {
  const canvas = picture.canvas;
  let grabbed = null;
  const find = event => {
    const area = canvas.getBoundingClientRect(), found = picture.find(event.clientX - area.left, event.clientY - area.top);
    return found && { ...found, view };
  };
  canvas.addEventListener("wheel", event => {
    event.preventDefault();
    const x = event.clientX - canvas.getBoundingClientRect().left;
    if (event.shiftKey || Math.abs(event.deltaX) > Math.abs(event.deltaY)) move((event.deltaX || event.deltaY) / 1000);
    else zoom(1.0015 ** Math.max(-400, Math.min(400, event.deltaY)), picture.time(Math.max(x, GUTTER)));
  }, { passive: false });
  canvas.addEventListener("pointerdown", event => {
    if (event.button) return;
    grabbed = { x: event.clientX, from: state.from, to: state.to, moved: false };
    canvas.setPointerCapture(event.pointerId);
  });
  canvas.addEventListener("pointermove", event => {
    if (!grabbed) return hoverOver(find(event), event.clientX, event.clientY);
    if (Math.abs(event.clientX - grabbed.x) > 3) grabbed.moved = true;
    if (!grabbed.moved) return;
    canvas.classList.add("moving");
    const shift = (grabbed.x - event.clientX) / picture.scale;
    show(grabbed.from + shift, grabbed.to + shift);
  });
  canvas.addEventListener("pointerup", event => {
    const found = find(event);
    if (grabbed && !grabbed.moved && found && found.c !== undefined) choose(found.c);
    grabbed = null;
    canvas.classList.remove("moving");
  });
  canvas.addEventListener("pointerleave", () => grabbed || hoverOver(null));
  canvas.addEventListener("dblclick", event => {
    const found = find(event);
    if (found && found.task !== undefined) zoomTo(found);
  });
  canvas.addEventListener("keydown", event => {
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const actions = {
      "+": () => zoom(0.6), "=": () => zoom(0.6), "-": () => zoom(1 / 0.6), 0: showAll, ArrowLeft: () => move(-0.15), ArrowRight: () => move(0.15),
      ArrowUp: () => choose(state.chosen - 1), ArrowDown: () => choose(state.chosen + 1), n: () => stepThrough(view, 1), p: () => stepThrough(view, -1),
      s: () => stepThrough(view, 1, true), a: () => stepThrough(view, -1, true), Escape: () => hoverOver(null),
      Enter: () => state.hover && state.hover.view === view && zoomTo(state.hover),
    };
    if (!actions[event.key]) return;
    event.preventDefault();
    actions[event.key]();
  });
}

function table(caption, heads, rows) {
  const node = make("table"), head = make("tr");
  node.append(make("caption", caption));
  for (const [name, kind] of heads) head.append(make("th", name, { scope: "col", class: kind || "" }));
  node.append(head);
  for (const cells of rows) {
    const row = make("tr");
    cells.forEach((words, i) => row.append(make("td", words, { class: heads[i][1] || "" })));
    node.append(row);
  }
  return node;
}

const percent = share => `${(100 * share).toFixed(1)} %`;

function fillTables() {
  data.views.forEach((view, v) => {
    const c = Math.min(state.chosen, view.classes.length - 1), one = view.classes[c], place = element(`tables${v}`);
    const stages = table("stages", [["stage", "number"], ["ranks"], ["busy", "number"], ["waits", "number"], ["balance", "number"], ["live peak", "number"], ["arena", "number"]],
      view.classes.map(k => [k.stage, k.ranks, humanTime(k.busy), percent(k.bubble), `${k.balance.toFixed(2)}x`, humanBytes(k.peak.bytes), humanBytes(k.arena)]));
    [...stages.rows].slice(1).forEach((row, i) => {
      row.classList.add("choose");
      row.classList.toggle("chosen", i === c);
      row.addEventListener("click", () => choose(i));
    });
    const tensors = one.peak.tensors.map(([kind, name, where, bytes, count]) => [humanBytes(bytes), looks.memory[kind].name, name, count > 1 ? `${count} micro-batches` : "", where]);
    if (one.peak.others) tensors.push([humanBytes(one.peak.otherBytes), "", `${one.peak.others} more`, "", ""]);
    const peak = table(`what makes the peak of ${stageName(one)}`, [["bytes", "number"], ["kind"], ["tensor", "wide"], ["held for"], ["source"]], tensors);
    const collectives = table(`collectives of ${stageName(one)}`,
      [["bytes", "number"], ["times", "number"], ["kind"], ["over"], ["in"], ["layer", "wide"], ["source"], ["cause", "wide"]],
      one.collectives.map(([kind, over, phase, count, bytes, , path, where, cause]) => [humanBytes(bytes), count, kind, over, phase, path, where, cause]));
    const boxes = (one.collectives.length ? [stages, peak, collectives] : [stages, peak]).map(node => {
      const box = make("div", undefined, { class: "scroll" });
      box.append(node);
      return box;
    });
    place.replaceChildren(...boxes);
  });
}

function fillLegend() {
  const used = new Set(data.views.flatMap(view => view.classes.flatMap(one => one.fragments.map(fragment => fragment.phase))));
  const tasks = [...looks.phases.filter((_, i) => used.has(i)), looks.collective, looks.transfer].map(look => [look, look.word]);
  if (data.views.some(view => view.classes.some(one => one.fragments.some(fragment => fragment.chunk)))) tasks.push([{ fill: "#ffffff" }, "lighter: later chunks"]);
  addLegend("time:", tasks);
  addLegend("memory:", looks.memory.map(look => [{ ...look, hatch: "" }, look.name, look.about]));
}

function addLegend(heading, entries) {
  const list = make("ul", undefined, { class: "legend" });
  list.append(make("li", heading, { class: "heading" }));
  element("legend").append(list);
  for (const [look, words, about] of entries) {
    const item = make("li"), swatch = make("canvas", undefined, { width: 32, height: 24, "aria-hidden": "true" }), pen = swatch.getContext("2d");
    pen.fillStyle = fillOf(pen, look);
    pen.fillRect(0, 0, 32, 24);
    item.append(swatch, words);
    if (about) item.title = about;
    list.append(item);
  }
}

function build() {
  document.title = data.views[0].title;
  element("title").textContent = data.views.length > 1 ? `${data.views.length} timelines on one time axis` : data.views[0].title;
  data.views.forEach((view, v) => {
    const section = make("section"), heading = make("h2", data.views.length > 1 ? view.title : "one training step");
    heading.append(make("small", view.timed ? `${view.origin}: ${humanTime(view.span)}, bubble ${percent(view.bubble)}` : "in program order; the program holds no planned times"));
    const canvas = make("canvas", undefined, {
      class: "picture", tabindex: "0", role: "img", id: `picture${v}`,
      "aria-label": `timeline of ${view.title}: ${view.classes.length} rank classes, step ${humanTime(view.span)}, bubble ${percent(view.bubble)}; n and p go through tasks, the numbers are in the tables below`,
    });
    section.append(heading, canvas);
    element("views").append(section);
    pictures.push(new Picture(view, v, canvas));
    listen(pictures[v], v);
  });
  data.views.forEach((view, v) => {
    if (data.views.length > 1) element("views").append(make("h2", `${view.title}, ${view.origin}`));
    element("views").append(make("div", undefined, { class: "tables", id: `tables${v}` }));
  });
  const widest = data.views.reduce((a, b) => (b.classes.length > a.classes.length ? b : a));
  widest.classes.forEach((one, c) => element("class").append(make("option", `${stageName(one)} (${one.ranks})`, { value: c })));
  element("class").addEventListener("change", event => choose(Number(event.target.value)));
  element("in").addEventListener("click", () => zoom(0.6));
  element("out").addEventListener("click", () => zoom(1 / 0.6));
  element("all").addEventListener("click", showAll);
  window.addEventListener("resize", redraw);
  window.addEventListener("beforeprint", () => pictures.forEach(picture => picture.draw(state)));
  window.addEventListener("afterprint", redraw);
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  fillLegend();
  choose(0);
  showAll();
}

build();

/** For tests and for the console: what is visible, and where a task or step is on the screen. */
window.inspector = {
  range: () => [state.from, state.to],
  chosen: () => state.chosen,
  hover: () => state.hover,
  place: (view, c, task, step) => {
    const picture = pictures[view];
    picture.draw(state);
    const area = picture.canvas.getBoundingClientRect(), box = picture.rectangles({ c, task, step }).pop();
    return { x: area.left + box.x, y: area.top + box.y, width: box.width, height: box.height };
  },
};
