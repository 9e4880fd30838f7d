// Shows the plan that is pointed at: its figures, where its time goes, its text. A click keeps it, the arrow keys go through all by time.
"use strict";

const data = JSON.parse(document.getElementById("data").textContent);
const element = id => document.getElementById(id);
const circles = [...document.querySelectorAll("circle[data-point]")];
const parts = [["computes", "#0072b2"], ["communicates without computing", "#e69f00"], ["waits", "#d9d9d9"]];
const byTime = data.plans.map((_, index) => index).sort((a, b) => data.plans[a].seconds - data.plans[b].seconds);
let shown = -1, kept = -1;

function make(tag, words) {
  const node = document.createElement(tag);
  if (words !== undefined) node.textContent = words;
  return node;
}

function fill(table, rows) {
  table.replaceChildren(...rows.map(cells => {
    const row = make("tr");
    row.append(...cells.map(words => make("td", words)));
    return row;
  }));
}

function shape(tag, attributes) {
  const node = document.createElementNS("http://www.w3.org/2000/svg", tag);
  Object.entries(attributes).forEach(([name, value]) => node.setAttribute(name, value));
  return node;
}

// The timeline of a plan: a lane for each stage, of runs such as "F12-3B24"; "-" is waiting.
function drawLanes(lanes) {
  const picture = element("lanes"), seen = new Set();
  const height = Math.max(3, Math.min(18, Math.floor(220 / Math.max(lanes.length, 1))));
  picture.setAttribute("viewBox", `0 0 ${data.columns} ${height * lanes.length}`);
  picture.style.height = `${height * lanes.length}px`;
  picture.replaceChildren(...lanes.flatMap((lane, at) => {
    let x = 0;
    return [...lane.matchAll(/(\D)(\d+)/g)].flatMap(([, letter, length]) => {
      const left = x;
      x += Number(length);
      if (!data.looks[letter]) return [];
      seen.add(letter);
      return [shape("rect", { x: left, y: at * height, width: length, height: height - 1, fill: data.looks[letter].fill })];
    });
  }));
  picture.setAttribute("aria-label", `timeline of ${lanes.length} stage${lanes.length === 1 ? "" : "s"}`);
  element("phases").replaceChildren("a training step, a lane for each stage:", ...Object.keys(data.looks).filter(letter => seen.has(letter)).map(letter => {
    const mark = make("i"), pair = make("span");
    mark.style.background = data.looks[letter].fill;
    pair.append(mark, data.looks[letter].word);
    return pair;
  }));
}

function show(index) {
  const plan = data.plans[index];
  if (!plan) return;
  shown = index;
  circles.forEach((circle, at) => circle.classList.toggle("shown", at === index));
  element("name").textContent = plan.name + (index === data.best ? " (chosen)" : "");
  element("bar").replaceChildren(...plan.shares.map((share, part) => {
    const node = make("span");
    node.style.width = `${100 * share}%`;
    node.style.background = parts[part][1];
    node.title = parts[part][0];
    return node;
  }));
  const words = plan.shares.map((share, part) => `${parts[part][0]} ${(100 * share).toFixed(1)} %`).join(", ");
  element("bar").setAttribute("aria-label", words);
  element("parts").textContent = `of the devices' time: ${words}`;
  drawLanes(plan.lanes);
  fill(element("figures"), plan.figures);
  element("text").textContent = plan.text;
}

function keep(index) {
  kept = kept === index ? -1 : index;
  circles.forEach((circle, at) => circle.classList.toggle("kept", at === kept));
  show(index);
}

circles.forEach((circle, index) => {
  circle.classList.toggle("best", index === data.best);
  circle.addEventListener("pointerenter", () => kept < 0 && show(index));
  circle.addEventListener("click", () => keep(index));
});
document.addEventListener("keydown", event => {
  const by = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
  if (!by || !byTime.length) return;
  event.preventDefault();
  keep(byTime[Math.min(Math.max(byTime.indexOf(shown) + by, 0), byTime.length - 1)]);
});
fill(element("refused"), data.refused);
element("others").hidden = !data.refused.length;
element("plan").hidden = !data.plans.length;
show(data.best < 0 ? byTime[0] : data.best);
