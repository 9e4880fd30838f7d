// Draws one view on a canvas: all stages as lanes, the chosen class in detail with its messages, and its memory below, on one time axis.

const GUTTER = 132, RIGHT = 14;

/** Where things are on a picture, in CSS pixels. */
function layoutOf(view) {
  const count = view.classes.length;
  const lane = count <= 8 ? 26 : count <= 24 ? 16 : 10, strip = count <= 8 ? 7 : count <= 24 ? 4 : 2, gap = count <= 24 ? 4 : 1;
  const layout = { lane, strip, top: 24, pitch: lane + strip + gap };
  layout.detail = layout.top + count * layout.pitch + 24;
  layout.steps = 42;
  layout.rows = layout.detail + layout.steps + 3; // collectives, sends, receives
  layout.row = 11;
  layout.memory = layout.rows + 3 * layout.row + 24;
  layout.memoryHeight = 110;
  layout.height = layout.memory + layout.memoryHeight + 8;
  return layout;
}

const rowOf = message => (message[M.kind] === "send" ? 1 : message[M.kind] === "receive" ? 2 : 0);
const lookOfMessage = message => (message[M.peer] >= 0 ? looks.transfer : looks.collective);

/** A fill that also differs in print: plain, or hatched. */
const patterns = new Map();
function fillOf(context, look) {
  if (!look.hatch) return look.fill;
  if (!patterns.has(look.name)) {
    const tile = document.createElement("canvas");
    tile.width = tile.height = 6;
    const pen = tile.getContext("2d");
    pen.fillStyle = look.fill;
    pen.fillRect(0, 0, 6, 6);
    pen.strokeStyle = "#00000070";
    pen.beginPath();
    for (const shift of [-6, 0, 6]) {
      pen.moveTo(shift, look.hatch === "rising" ? 6 : 0);
      pen.lineTo(shift + 6, look.hatch === "rising" ? 0 : 6);
    }
    pen.stroke();
    patterns.set(look.name, tile);
  }
  return context.createPattern(patterns.get(look.name), "repeat");
}

class Picture {
  constructor(view, index, canvas) {
    Object.assign(this, { view, index, canvas, layout: layoutOf(view) });
    this.context = canvas.getContext("2d");
  }

  draw(state) {
    const ratio = window.devicePixelRatio || 1, width = this.canvas.clientWidth, height = this.layout.height;
    this.canvas.style.height = `${height}px`;
    if (this.canvas.width !== Math.round(width * ratio) || this.canvas.height !== Math.round(height * ratio)) {
      this.canvas.width = Math.round(width * ratio);
      this.canvas.height = Math.round(height * ratio);
    }
    this.right = width - RIGHT;
    this.from = state.from;
    this.scale = Math.max(1, this.right - GUTTER) / (state.to - state.from);
    this.to = state.to;
    const pen = this.context, style = getComputedStyle(document.documentElement);
    this.color = name => style.getPropertyValue(`--${name}`).trim();
    pen.setTransform(ratio, 0, 0, ratio, 0, 0);
    pen.fillStyle = this.color("page");
    pen.fillRect(0, 0, width, height);
    pen.textBaseline = "middle";
    this.chosen = Math.min(state.chosen, this.view.classes.length - 1);
    this.drawLanes();
    this.drawDetail();
    this.drawMemory(state);
    this.drawAxis();
    if (state.hover && state.hover.view === this.index) this.drawHover(state.hover);
  }

  x(time) { return GUTTER + (time - this.from) * this.scale; }
  time(x) { return this.from + (x - GUTTER) / this.scale; }
  laneTop(c) { return this.layout.top + c * this.layout.pitch; }

  /** Keeps boxes out of the names' column. */
  inside(drawing) {
    const pen = this.context;
    pen.save();
    pen.beginPath();
    pen.rect(GUTTER, 0, this.right - GUTTER, this.layout.height);
    pen.clip();
    drawing(pen);
    pen.restore();
  }

  text(words, x, y, { color = "ink", font = "12px", weight = "", align = "left", most } = {}) {
    const pen = this.context;
    pen.font = `${weight} ${font} "DejaVu Sans", system-ui, sans-serif`;
    pen.fillStyle = color.startsWith("#") ? color : this.color(color);
    pen.textAlign = align;
    if (most !== undefined && pen.measureText(words).width > most) {
      while (words && pen.measureText(words + "…").width > most) words = words.slice(0, -1);
      words += "…";
    }
    pen.fillText(words, x, y);
  }

  /** A box at least a hair wide; narrow neighbours of one look are drawn once per pixel. */
  box(look, from, to, y, height, last) {
    let left = Math.max(this.x(from), GUTTER - 2), right = Math.min(this.x(to), this.right + 2);
    const width = Math.max(right - left, 0.6);
    if (width < 1 && last.look === look && left - last.left < 0.6) return 0;
    last.look = look;
    last.left = left;
    const pen = this.context;
    pen.fillStyle = look.hatch && width > 3 ? fillOf(pen, look) : look.fill;
    pen.fillRect(left, y, width > 4 ? width - 0.8 : width, height);
    return width;
  }

  lighten(fragment, begin, end, y, height) {
    if (!fragment.chunk) return;
    this.context.fillStyle = fragment.chunk === 1 ? "#ffffff4d" : "#ffffff80";
    this.context.fillRect(this.x(begin), y, this.x(end) - this.x(begin), height);
  }

  drawLanes() {
    const { lane, strip } = this.layout, pen = this.context;
    this.view.classes.forEach((one, c) => {
      const y = this.laneTop(c);
      if (c === this.chosen) {
        pen.fillStyle = this.color("chosen");
        pen.fillRect(0, y - 1, this.right + RIGHT, lane + strip + 2);
      }
      pen.fillStyle = this.color("lane");
      pen.fillRect(GUTTER, y, this.right - GUTTER, lane);
      const roomy = lane >= 24;
      this.text(stageName(one), 4, y + (roomy ? 9 : lane / 2 + 1), { weight: "bold", font: lane >= 16 ? "12px" : "9px" });
      if (roomy) this.text(one.ranks, 4, y + 23, { color: "soft", font: "10.5px", most: GUTTER - 10 });
    });
    this.inside(() => this.view.classes.forEach((one, c) => this.drawLane(one, this.laneTop(c))));
  }

  drawLane(one, y) {
    const { lane, strip } = this.layout, last = {}, lastMessage = [{}, {}, {}];
    const size = lane >= 16 ? 11 : 8;
    for (const task of visibleTasks(one, this.from, this.to, 0)) {
      const fragment = one.fragment(task), look = phaseOf(fragment), begin = one.at(task, BEGIN), end = one.at(task, END);
      if (end <= begin) continue;
      const width = this.box(look, begin, end, y, lane, last);
      this.lighten(fragment, begin, end, y, lane);
      if (width > 8) this.drawNumber(one, task, look, begin, end, y, lane, size);
      for (const s of fragment.talks) {
        const step = fragment.steps[s], message = step[S.message], row = rowOf(message);
        this.box(lookOfMessage(message), begin + step[S.begin], begin + step[S.end], y + lane + (row === 0 ? 0 : strip / 2), row === 0 ? strip : strip / 2,
          lastMessage[row]);
      }
    }
  }

  drawNumber(one, task, look, begin, end, y, height, size) {
    const words = look.perMicro ? String(one.at(task, MICRO)) : look.letter;
    this.context.font = `${size}px "DejaVu Sans", system-ui, sans-serif`;
    const left = Math.max(this.x(begin), GUTTER), right = Math.min(this.x(end), this.right);
    if (this.context.measureText(words).width + 3 > right - left) return;
    const pen = this.context;
    if (look.hatch) {
      const wide = pen.measureText(words).width + 4;
      pen.fillStyle = look.fill;
      pen.fillRect((left + right - wide) / 2, y + height / 2 - size / 2 - 1, wide, size + 2);
    }
    this.text(words, (left + right) / 2, y + height / 2 + 1, { color: one.fragment(task).chunk ? "#000000" : look.ink, font: `${size}px`, align: "center" });
  }

  drawDetail() {
    const { detail, steps, rows, row } = this.layout, one = this.view.classes[this.chosen];
    this.text(`${stageName(one)} (${one.ranks}): steps, collectives, messages`, GUTTER, detail - 10, { weight: "bold", font: "11.5px" });
    this.text("steps", 4, detail + steps / 2, { color: "soft", font: "11px" });
    ["collectives", "sends", "receives"].forEach((name, r) => {
      this.context.fillStyle = this.color("lane");
      this.context.fillRect(GUTTER, rows + r * row, this.right - GUTTER, row - 2);
      this.text(name, 4, rows + r * row + row / 2, { color: "soft", font: "10px" });
    });
    this.context.fillStyle = this.color("lane");
    this.context.fillRect(GUTTER, detail, this.right - GUTTER, steps);
    this.inside(() => {
      const last = {}, lastMessage = [{}, {}, {}];
      for (const task of visibleTasks(one, this.from, this.to, 0)) {
        const fragment = one.fragment(task), begin = one.at(task, BEGIN), end = one.at(task, END), look = phaseOf(fragment);
        const width = this.box(look, begin, end, detail, steps, last);
        this.lighten(fragment, begin, end, detail, steps);
        if (width > 60) this.drawSteps(one, fragment, begin, look);
        if (width > 8) this.drawNumber(one, task, look, begin, end, detail, width > 60 ? 14 : steps, 11);
        for (const s of fragment.talks) {
          const step = fragment.steps[s], message = step[S.message], r = rowOf(message);
          this.box(lookOfMessage(message), begin + step[S.begin], begin + step[S.end], rows + r * row, row - 2, lastMessage[r]);
        }
      }
    });
  }

  /** Steps inside a task: below its number, divided by lines, named where a name fits. */
  drawSteps(one, fragment, begin, look) {
    const { detail, steps } = this.layout, pen = this.context, y = detail + 15;
    fragment.steps.forEach(step => {
      const message = step[S.message];
      if (message && message[M.peer] >= 0) return;
      const left = this.x(begin + step[S.begin]), right = this.x(begin + step[S.end]);
      if (right - left < 1.5 || right < GUTTER || left > this.right) return;
      if (message) {
        pen.fillStyle = looks.collective.fill;
        pen.fillRect(left, y, right - left, steps - 15);
      }
      pen.fillStyle = "#ffffff";
      pen.fillRect(left, y, 0.8, steps - 15);
      const most = Math.min(right, this.right) - Math.max(left, GUTTER) - 6;
      if (most > 34)
        this.text(this.view.labels[step[S.label]][0], Math.max(left, GUTTER) + 4, y + (steps - 15) / 2,
          { color: message ? looks.collective.ink : look.ink, font: "10.5px", most });
    });
  }

  drawMemory(state) {
    const { memory, memoryHeight } = this.layout, one = this.view.classes[this.chosen], curve = memoryOf(one), pen = this.context;
    const most = Math.max(state.mostMemory * 1.04, 1), bottom = memory + memoryHeight;
    const y = bytes => bottom - (bytes / most) * memoryHeight;
    this.text(`live memory of ${stageName(one)}: peak ${humanBytes(one.peak.bytes)} at ${humanTime(one.peak.at)}, arena ${humanBytes(one.arena)}`,
      GUTTER, memory - 10, { weight: "bold", font: "11.5px" });
    pen.fillStyle = this.color("lane");
    pen.fillRect(GUTTER, memory, this.right - GUTTER, memoryHeight);
    for (const share of [0, 0.5, 1]) {
      this.text(humanBytes(most * share), GUTTER - 6, Math.min(Math.max(y(most * share), memory + 6), bottom - 4), { color: "soft", font: "10.5px", align: "right" });
      pen.fillStyle = this.color("line");
      pen.fillRect(GUTTER, y(most * share), this.right - GUTTER, 0.7);
    }
    this.inside(() => {
      const end = this.x(this.view.span);
      for (let x = GUTTER; x < Math.min(this.right, end); ++x) {
        const from = curveAt(curve, this.time(x)), to = curveAt(curve, this.time(x + 1));
        let at = from; // the highest moment of the column, so that no peak is lost
        for (let i = from + 1; i <= to; ++i) if (curve.total[i] > curve.total[at]) at = i;
        let sum = 0;
        curve.kinds.forEach((kind, k) => {
          if (kind[at] <= 0) return;
          const below = y(sum);
          sum += kind[at];
          pen.fillStyle = looks.memory[k].fill;
          pen.fillRect(x, y(sum), 1.05, below - y(sum));
        });
      }
      pen.strokeStyle = this.color("mark");
      pen.setLineDash([5, 4]);
      pen.beginPath();
      pen.moveTo(GUTTER, y(one.arena));
      pen.lineTo(this.right, y(one.arena));
      pen.stroke();
      pen.setLineDash([]);
      const px = this.x(one.peak.at), py = y(one.peak.bytes);
      pen.beginPath();
      pen.arc(px, py, 4, 0, 2 * Math.PI);
      pen.fillStyle = this.color("page");
      pen.fill();
      pen.stroke();
    });
  }

  drawAxis() {
    const pen = this.context, span = this.to - this.from, raw = span / Math.max(3, (this.right - GUTTER) / 110);
    const power = 10 ** Math.floor(Math.log10(raw)), every = [1, 2, 5, 10].map(f => f * power).find(step => step >= raw);
    const digits = Math.max(1, Math.ceil(Math.log10(Math.max(this.to, 1) / every)) + 1);
    for (let mark = Math.ceil(this.from / every) * every; mark <= this.to; mark += every) {
      const x = this.x(mark);
      pen.fillStyle = this.color("line");
      pen.globalAlpha = 0.6;
      pen.fillRect(x, 17, 0.7, this.layout.height - 22);
      pen.globalAlpha = 1;
      this.text(humanTime(mark, Math.max(3, digits)), x, 9, { color: "soft", font: "10.5px", align: x > this.right - 24 ? "right" : "center" });
    }
    this.text("time", 4, 9, { color: "soft", font: "11px" });
  }

  /** Rectangles of a task or step: in its lane, and in the detail when its class is chosen. */
  rectangles({ c, task, step }) {
    const one = this.view.classes[c], fragment = one.fragment(task), begin = one.at(task, BEGIN), result = [];
    const rectangle = (from, to, y, height) => ({ x: this.x(from), y, width: Math.max(2, this.x(to) - this.x(from)), height });
    const { detail, steps, rows, row, lane } = this.layout;
    if (step === undefined) {
      result.push(rectangle(begin, one.at(task, END), this.laneTop(c), lane));
      if (c === this.chosen) result.push(rectangle(begin, one.at(task, END), detail, steps));
      return result;
    }
    const facts = fragment.steps[step], message = facts[S.message], from = begin + facts[S.begin], to = begin + facts[S.end];
    if (c !== this.chosen) return [rectangle(begin, one.at(task, END), this.laneTop(c), lane)];
    if (!message || message[M.peer] < 0) result.push(rectangle(from, to, detail + 15, steps - 15));
    if (message) result.push(rectangle(from, to, rows + rowOf(message) * row, row - 2));
    return result;
  }

  drawHover(hover) {
    const { before, after } = dependenciesOf(this.view, hover.c, hover.task, hover.step);
    this.inside(pen => {
      const outline = (box, color, width) => {
        for (const r of this.rectangles(box)) {
          pen.strokeStyle = color;
          pen.lineWidth = width;
          pen.strokeRect(r.x, r.y, r.width, r.height);
        }
      };
      const place = box => (box.c === hover.c ? this.rectangles(box).pop() : this.rectangles(box)[0]), to = place(hover);
      for (const box of after) this.arrow(to, place(box), this.color("soft"), [3, 3]);
      for (const box of after) outline(box, this.color("soft"), 1.2);
      for (const box of before) this.arrow(place(box), to, this.color("wait"), []);
      for (const box of before) outline(box, this.color("wait"), 2);
      outline(hover, this.color("mark"), 2.4);
      pen.lineWidth = 1;
    });
  }

  arrow(from, to, color, dash) {
    const pen = this.context, x0 = from.x + from.width, y0 = from.y + from.height / 2, x1 = to.x, y1 = to.y + to.height / 2;
    const bend = Math.max(12, Math.abs(x1 - x0) / 3);
    pen.strokeStyle = pen.fillStyle = color;
    pen.lineWidth = 1.3;
    pen.setLineDash(dash);
    pen.beginPath();
    pen.moveTo(x0, y0);
    pen.bezierCurveTo(x0 + bend, y0, x1 - bend, y1, x1 - 5, y1);
    pen.stroke();
    pen.setLineDash([]);
    pen.beginPath();
    pen.moveTo(x1, y1);
    pen.lineTo(x1 - 6, y1 - 3.5);
    pen.lineTo(x1 - 6, y1 + 3.5);
    pen.fill();
  }

  /** What is at a point of the canvas: {c, task, step?}, {c} on a lane's free part, {memory: time} on the curve, or null. */
  find(x, y) {
    const { top, pitch, lane, strip, detail, steps, rows, row, memory, memoryHeight } = this.layout, time = this.time(x), classes = this.view.classes;
    if (y >= memory && y < memory + memoryHeight && x >= GUTTER && x <= this.right) return { memory: time, c: this.chosen };
    const c = Math.floor((y - top) / pitch);
    if (y >= top && c < classes.length) {
      if (x < GUTTER) return { c };
      return this.findMessage(c, time, y >= this.laneTop(c) + lane && y < this.laneTop(c) + lane + strip, -1) || this.findTask(c, time) || { c };
    }
    if (x < GUTTER) return null;
    if (y >= detail && y < detail + steps) {
      const found = this.findTask(this.chosen, time);
      if (!found || y < detail + 15) return found;
      const one = classes[this.chosen], begin = one.at(found.task, BEGIN);
      if ((one.at(found.task, END) - begin) * this.scale <= 60) return found;
      const step = one.fragment(found.task).steps.findIndex(s => !(s[S.message] && s[S.message][M.peer] >= 0) && begin + s[S.begin] <= time && time < begin + s[S.end]);
      return step < 0 ? found : { ...found, step };
    }
    const r = Math.floor((y - rows) / row);
    return r >= 0 && r < 3 ? this.findMessage(this.chosen, time, true, r) : null;
  }

  findTask(c, time) {
    const one = this.view.classes[c];
    for (const task of visibleTasks(one, time, time)) if (one.at(task, BEGIN) <= time && time < one.at(task, END)) return { c, task };
    return null;
  }

  findMessage(c, time, wanted, row) {
    if (!wanted) return null;
    const one = this.view.classes[c], slack = 3 / this.scale;
    const early = Math.max(...one.fragments.map(fragment => fragment.late - fragment.early));
    for (const task of visibleTasks(one, time, time, early + slack)) {
      const fragment = one.fragment(task), begin = one.at(task, BEGIN);
      for (const s of fragment.talks) {
        const step = fragment.steps[s];
        if ((row < 0 || rowOf(step[S.message]) === row) && begin + step[S.begin] - slack <= time && time <= begin + step[S.end] + slack)
          return { c, task, step: s };
      }
    }
    return null;
  }
}
