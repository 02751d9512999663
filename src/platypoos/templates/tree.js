"use strict";
// The tree as rows of boxes: a click on a box zooms in, a click on the first row zooms out.
(function () {
  const box = document.getElementById("tree");
  if (!box) return;
  const data = JSON.parse(document.getElementById("tree-data").textContent);
  const crumbs = document.getElementById("crumbs"), info = document.getElementById("tree-info");
  const ROWS = 12, HEIGHT = 26, size = data.parent.length;
  const children = Array.from({ length: size }, () => []);
  for (let i = 1; i < size; i++) children[data.parent[i]].push(i);
  for (const list of children) list.sort((a, b) => data.below[b] - data.below[a]);
  let low = Infinity, high = -Infinity;
  for (let i = 1; i < size; i++) {
    low = Math.min(low, data.reward[i]); high = Math.max(high, data.reward[i]);
  }
  const short = x => String(Number(x.toPrecision(5)));
  const name = i => i === 0 ? "now" : data.names[data.action[i]];
  function path(i) {
    const list = [];
    for (; i > 0; i = data.parent[i]) list.push(i);
    return list.reverse();
  }
  function tell(i) {
    if (i === 0) return `all: ${data.below[0].toLocaleString("en")} samples`;
    const way = path(i), shown = way.slice(-6).map(name).join(" → ");
    return `step ${way.length}: ${way.length > 6 ? "… → " : ""}${shown}: mean reward ` +
      `${short(data.reward[i])} by ${data.own[i].toLocaleString("en")} samples; ` +
      `${data.below[i].toLocaleString("en")} with all that follows`;
  }
  function color(i) {
    if (i === 0 || high === low) return "#cfd9e2";
    const share = (data.reward[i] - low) / (high - low);
    return `hsl(205 55% ${92 - 44 * share}%)`;
  }
  function add(i, row, left, width, text, kind) {
    const one = document.createElement("div");
    one.style.cssText = `left:${left}%;width:${width}%;top:${row * HEIGHT}px`;
    one.textContent = width > 3 ? text : "";
    if (kind) one.className = kind;
    if (i >= 0) {
      one.style.background = color(i);
      if (i > 0 && high > low && (data.reward[i] - low) / (high - low) > 0.75) one.style.color = "#fff";
      one.title = tell(i);
      one.onmouseenter = () => { info.textContent = tell(i); };
      one.onclick = () => draw(row === 0 ? Math.max(data.parent[i], 0) : i);
    }
    box.appendChild(one);
  }
  function place(i, row, left, width) {
    add(i, row, left, width, name(i), data.best[i] ? "best" : "");
    if (row + 1 >= ROWS || !children[i].length) return row;
    const below = data.below[i] - data.own[i];
    let at = left, deepest = row;
    for (const child of children[i]) {
      const part = width * data.below[child] / below;
      if (part >= 0.12) deepest = Math.max(deepest, place(child, row + 1, at, part));
      at += part;
    }
    if (left + width - at > 0.3) {
      add(-1, row + 1, at, left + width - at, "…", "rest");
      deepest = Math.max(deepest, row + 1);
    }
    return deepest;
  }
  function draw(root) {
    box.textContent = "";
    const rows = place(root, 0, 0, 100) + 1;
    box.style.height = `${rows * HEIGHT}px`;
    crumbs.textContent = "";
    for (const i of [0, ...path(root)].slice(-9)) {
      const one = document.createElement("button");
      one.textContent = name(i);
      one.onclick = () => draw(i);
      crumbs.appendChild(one);
    }
    info.textContent = tell(root);
  }
  draw(0);
})();
