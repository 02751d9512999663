"use strict";
// A slider over the steps of an episode.
(function () {
  const data = JSON.parse(document.getElementById("episode-data").textContent);
  const get = name => document.getElementById(name), steps = data.steps;
  const SVG = "http://www.w3.org/2000/svg";
  const short = x => x === null || x === undefined ? "–" : String(Number(x.toPrecision(5)));
  const name = (a, s) => {  // where actions are arrays, each step has its own list of them
    const names = s.names || data.names;
    return names[a] === undefined ? String(a) : names[a];
  };
  function make(kind, parent, text, style) {
    const one = document.createElement(kind);
    if (text !== undefined) one.textContent = text;
    if (style) one.className = style;
    parent.appendChild(one);
    return one;
  }
  function draw(kind, parent, attributes) {
    const one = document.createElementNS(SVG, kind);
    for (const key in attributes) one.setAttribute(key, attributes[key]);
    parent.appendChild(one);
    return one;
  }
  const slider = get("slider");
  slider.max = Math.max(steps.length - 1, 0);

  // The chart over time.
  const spark = get("spark"), W = 1000, H = 120;
  spark.setAttribute("viewBox", `0 0 ${W} ${H}`);
  function scaled(list) {
    const known = list.filter(x => x !== null && x !== undefined);
    const low = Math.min(...known), high = Math.max(...known);
    return x => high > low ? (x - low) / (high - low) : 0.5;
  }
  const rewards = steps.map(s => s.reward), values = steps.map(s => s.value);
  const wide = W / Math.max(steps.length, 1), tall = scaled([0, ...rewards]), up = scaled(values);
  const zero = H - 8 - (H - 16) * tall(0);
  rewards.forEach((r, t) => {
    const y = H - 8 - (H - 16) * tall(r);
    draw("rect", spark, { x: t * wide, y: Math.min(y, zero), width: Math.max(wide * 0.8, 0.5),
      height: Math.max(Math.abs(y - zero), 1), fill: "#a9c6dc" });
  });
  const points = values.map((v, t) => v === null || v === undefined ? "" :
    `${(t + 0.4) * wide},${H - 8 - (H - 16) * up(v)}`).filter(Boolean).join(" ");
  draw("polyline", spark, { points, fill: "none", stroke: "#0b6e5f", "stroke-width": 2,
    "vector-effect": "non-scaling-stroke" });
  const range = list => {
    const known = list.filter(x => x !== null && x !== undefined);
    return known.length ? `${short(Math.min(...known))} to ${short(Math.max(...known))}` : "not known";
  };
  get("axis-reward").textContent = `bars: reward, ${range([0, ...rewards])}`;
  get("axis-value").textContent = `line: value of the plan, ${range(values)}`;
  get("axis-last").textContent = `step ${steps.length}`;
  const cursor = draw("line", spark, { y1: 0, y2: H, stroke: "#f2a900", "stroke-width": 2,
    "vector-effect": "non-scaling-stroke" });
  spark.onclick = e => {
    const at = spark.getBoundingClientRect();
    show(Math.floor((e.clientX - at.left) / at.width * steps.length));
  };

  // The map, if there is one.
  const map = get("map");
  let view = null;
  if (data.path) {
    const xs = [], ys = [];
    for (const [x, y] of data.path) { xs.push(x); ys.push(y); }
    for (const [x, y, r] of data.marks) { xs.push(x - r, x + r); ys.push(y - r, y + r); }
    const low = [Math.min(...xs), Math.min(...ys)], high = [Math.max(...xs), Math.max(...ys)];
    const size = Math.max(high[0] - low[0], high[1] - low[1]) || 1, pad = 0.12 * size;  // what is looked ahead to may leave the map
    view = size;
    map.setAttribute("viewBox", `${low[0] - pad} ${-high[1] - pad} ${high[0] - low[0] + 2 * pad} ${high[1] - low[1] + 2 * pad}`);
    map.removeAttribute("hidden");
  }
  const line = (path, color, dash, width) => draw("polyline", map, {
    points: path.map(([x, y]) => `${x},${-y}`).join(" "), fill: "none", stroke: color,
    "stroke-width": width * view, "stroke-dasharray": dash ? `${0.012 * view} ${0.012 * view}` : "none",
    "stroke-linejoin": "round", class: dash ? "look-ahead" : "way" });
  function drawMap(t) {
    map.textContent = "";
    for (const [x, y, r, label] of data.marks) {
      const one = draw("circle", map, { cx: x, cy: -y, r, fill: "#c3ccd4" });
      draw("title", one, {}).textContent = label;
    }
    const paths = steps[t].paths || [];
    if (paths[1]) line(paths[1], "#b3541e", true, 0.006);
    if (paths[0]) line(paths[0], "#0b6e5f", true, 0.009);
    line(data.path.slice(0, t + 1), "#1c2733", false, 0.008);
    const [x, y] = data.path[t];
    draw("circle", map, { cx: x, cy: -y, r: 0.018 * view, fill: "#1c2733" });
  }

  function bars(s) {
    const box = get("bars");
    box.textContent = "";
    if (!s.values) return;
    const order = s.values.map((v, a) => a).filter(a => s.values[a] !== null)
      .sort((a, b) => s.values[b] - s.values[a] || (b === s.action) - (a === s.action)).slice(0, 10);
    const low = Math.min(...order.map(a => s.values[a])), high = Math.max(...order.map(a => s.values[a]));
    const rival = order.find(a => a !== s.action);
    for (const a of order) {
      const kind = a === s.action ? "is-best" : a === rival ? "is-rival" : "";
      make("div", box, name(a, s), `name ${kind}`);
      const mark = make("b", make("div", box, undefined, `lane ${kind}`));
      mark.style.left = `${high > low ? 6 + 88 * (s.values[a] - low) / (high - low) : 50}%`;
      make("div", box, short(s.values[a]), "num");
    }
  }
  function ahead(s) {
    const table = get("ahead");
    table.textContent = "";
    if (!s.ahead) return;
    const head = make("tr", table);
    const leads = s.ahead.some(l => l.some(step => step[2])) ? ["leads to"] : [];
    const rival = s.ahead[1] ? ["runner-up", "reward", ...leads] : [];
    for (const text of ["step", "recommended", "reward", ...leads, ...rival]) make("th", head, text, text === "leads to" ? "leads" : "");
    for (let i = 0; i < Math.max(...s.ahead.map(l => l.length)); i++) {
      const row = make("tr", table);
      make("td", row, `+${i + 1}`);
      for (const one of s.ahead) {
        const step = one[i];
        make("td", row, step ? name(step[0], s) : "");
        make("td", row, step ? short(step[1]) : "");
        if (leads.length) make("code", make("td", row, undefined, "leads"), step ? step[2] : "");
      }
    }
  }
  let now = 0;
  function show(t) {
    if (!steps.length) return;
    now = Math.max(0, Math.min(steps.length - 1, t));
    const s = steps[now];
    slider.value = now;
    get("where").textContent = `${now + 1} / ${steps.length}`;
    get("title").textContent = `Step ${now + 1}: ${name(s.action, s)}`;
    get("told").textContent = `state ${s.state}; reward received ${short(s.reward)}, ${s.calls.toLocaleString("en")} calls`;
    get("lead").textContent = s.lead || "";
    if (data.pictures.length) { get("frame").src = data.pictures[data.frames[now]]; get("frame").hidden = false; }
    if (data.path) drawMap(now);
    bars(s); ahead(s);
    for (const x of ["x1", "x2"]) cursor.setAttribute(x, (now + 0.4) * wide);
  }
  slider.oninput = () => show(Number(slider.value));
  let timer = null;
  get("play").onclick = () => {
    if (timer) { clearInterval(timer); timer = null; get("play").textContent = "play"; return; }
    if (now >= steps.length - 1) now = -1;
    get("play").textContent = "pause";
    timer = setInterval(() => {
      show(now + 1);
      if (now >= steps.length - 1) get("play").onclick();
    }, 150);
  };
  document.addEventListener("keydown", e => {
    if (e.target === slider) return;
    if (e.key === "ArrowRight") show(now + 1);
    if (e.key === "ArrowLeft") show(now - 1);
  });
  show(0);
})();
