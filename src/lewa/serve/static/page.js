"use strict";
// The page draws what the service sends: a history when it connects, then a point a second for each agent that moved.
(() => {
  const css = (name) => getComputedStyle(document.documentElement).getPropertyValue(name).trim();
  const colour = (n) => css(`--c${n % 8}`);
  const short = (x) => (x === null || x === undefined ? "–" : Number.isInteger(x) ? x.toLocaleString("en") : Number(x.toPrecision(4)).toString());
  const agents = new Map();

  function series(agent, kind, figure) {
    const line = Number(figure.dataset.line || 0);
    const at = (get) => agent.points.map((point) => { const value = get(point); return value === undefined ? null : value; });
    const times = at((point) => point.at);
    const named = (point, n) => (point.constraints || point.lines || [])[n] || {};
    if (kind === "line")
      return {
        data: [times, ...["low", "high", "average", "recent", "limit"].map((name) => at((point) => named(point, line)[name]))],
        series: [
          { label: "band, low", class: "silent", stroke: "transparent", width: 0, points: { show: false } },
          { label: "band, high", class: "silent", stroke: "transparent", width: 0, points: { show: false } },
          { label: "average", stroke: colour(0), width: 2 },
          { label: "recent", stroke: colour(1), width: 1.2 },
          { label: "limit", stroke: css("--bad"), width: 1.4, dash: [6, 4] },
        ],
        bands: [{ series: [2, 1], fill: css("--band") }],
        range: scaleOfLine,
      };
    if (kind === "shares")
      return {
        data: [times, ...agent.actions.map((_, n) => at((point) => (point.shares || [])[n]))],
        series: agent.actions.map((label, n) => ({ label, stroke: colour(n), width: 1.6, dash: n < 8 ? undefined : [3, 3] })),
        range: [0, 1],
      };
    if (kind === "reward")
      return {
        data: [times, at((point) => point.reward), at((point) => point.recent_reward)],
        series: [{ label: "average", stroke: colour(0), width: 2 }, { label: "recent", stroke: colour(1), width: 1.2 }],
      };
    if (kind === "price")
      return {
        data: [times, ...agent.constraints.map((_, n) => at((point) => named(point, n).price))],
        series: agent.constraints.map((one, n) => ({ label: one.name, stroke: colour(n), width: 1.6 })),
      };
    return {
      data: [times, at((point) => point.open), at((point) => point.filled_in), at((point) => point.late)],
      series: ["open", "filled in", "late"].map((label, n) => ({ label, stroke: colour(n), width: 1.6 })),
    };
  }

  // The first answers swing widely, and their band is wide: the scale of a line is that of the later ones, and of its limit.
  function scaleOfLine(plot) {
    const [, low, high, average, recent, limit] = plot.data;
    const [first, last] = plot.series[0].idxs || [0, limit.length - 1];
    const later = (values, share) => values.slice(Math.ceil(first + share * (last - first)), last + 1);
    const shown = [...later(limit, 0), ...later(average, 0.1), ...later(recent, 0.1), ...later(low, 0.5), ...later(high, 0.5)];
    const known = shown.filter((x) => x !== null && x !== undefined);
    if (!known.length) return [0, 1];
    const least = Math.min(...known), most = Math.max(...known);
    const margin = 0.1 * (most - least) || 0.1 * Math.abs(most) || 1;
    return [least - margin, most + margin];
  }

  function clock(_, ticks) {
    const long = ticks.length > 1 && ticks[ticks.length - 1] - ticks[0] > 172800;
    const two = (n) => String(n).padStart(2, "0");
    return ticks.map((tick) => {
      const at = new Date(tick * 1000), day = `${two(at.getMonth() + 1)}-${two(at.getDate())}`;
      const time = `${two(at.getHours())}:${two(at.getMinutes())}`;
      return long ? `${day} ${time}` : `${time}:${two(at.getSeconds())}`;
    });
  }

  // Changes as vertical marks.
  const marks = (agent) => ({
    hooks: {
      draw: [(plot) => {
        const { ctx, bbox } = plot;
        ctx.save();
        ctx.strokeStyle = css("--quiet");
        ctx.setLineDash([2, 3]);
        for (const mark of agent.marks) {
          const x = plot.valToPos(mark.at, "x", true);
          if (x < bbox.left || x > bbox.left + bbox.width) continue;
          ctx.beginPath();
          ctx.moveTo(x, bbox.top);
          ctx.lineTo(x, bbox.top + bbox.height);
          ctx.stroke();
        }
        ctx.restore();
      }],
    },
  });

  function draw(agent) {
    for (const figure of agent.section.querySelectorAll("figure")) {
      const place = figure.querySelector(".plot");
      const { data, series: lines, bands, range } = series(agent, figure.dataset.chart, figure);
      place.classList.toggle("waiting", agent.points.length < 2);
      if (agent.points.length < 2) continue;
      const old = agent.plots.get(figure);
      if (old) { old.setData(data); continue; }
      const axis = { stroke: css("--quiet"), grid: { stroke: css("--grid"), width: 1 }, ticks: { show: false }, font: "11px system-ui" };
      const plot = new uPlot({
        width: Math.max(place.clientWidth, 120),
        height: figure.classList.contains("wide") ? 230 : 170,
        scales: range ? { y: { range } } : {},
        axes: [{ ...axis, size: 26, space: 70, values: clock }, { ...axis, size: 58, values: (_, ticks) => ticks.map((x) => Number(x.toPrecision(6)).toString()) }],
        series: [{ value: (_, x) => (x === null ? "–" : new Date(x * 1000).toLocaleTimeString()) },
          ...lines.map((one) => ({ spanGaps: true, points: { show: false }, value: (_, x) => short(x), ...one }))],
        bands,
        cursor: { y: false },
        legend: { live: true },
        plugins: [marks(agent)],
      }, data, place);
      agent.plots.set(figure, plot);
    }
  }

  function write(agent, point) {
    const section = agent.section;
    for (const cell of section.querySelectorAll("[data-count]")) cell.textContent = short(point[cell.dataset.count]);
    section.querySelector("[data-show=guarantee]").textContent = point.guarantee;
    section.querySelector("[data-show=version]").textContent = agent.version = point.version;
    const mode = section.querySelector("[data-show=mode]");
    mode.textContent = point.mode || "live";
    mode.className = "chip" + (point.mode === "live" ? " good" : point.mode === "off" ? " bad" : " wait");
    section.querySelector("[data-show=caps]").replaceChildren(...(point.caps || []).map((cap) => {
      const left = cap.total - cap.spent - cap.reserved;
      const text = `${cap.constraint ?? cap.line} cap: ${short(cap.spent)} of ${short(cap.total)} per ${cap.per} spent, ${short(cap.reserved)} reserved, ${short(Math.max(left, 0))} left`;
      const item = Object.assign(document.createElement("li"), { textContent: text });
      const bar = Object.assign(document.createElement("meter"), { min: 0, max: cap.total, value: cap.spent + cap.reserved, high: 0.9 * cap.total });
      item.append(" ", bar);
      return item;
    }));
    section.querySelector("[data-show=warnings]").replaceChildren(
      ...(point.warnings || []).map((text) => Object.assign(document.createElement("li"), { textContent: text })));
    (point.constraints || point.lines || []).forEach((line, n) => {
      const chip = section.querySelector(`[data-verdict="${n}"]`);
      chip.textContent = line.verdict;
      chip.className = "chip" + (line.verdict === "kept" ? " good" : line.verdict === "missed" ? " bad" : "");
      const band = line.low === null ? "" : `, band ${short(line.low)} to ${short(line.high)}`;
      const reserved = line.reserved === null ? "" : `, ${short(line.reserved)} with open decisions`;
      const debt = line.debt === null ? "" : `, debt ${short(line.debt)}`;
      section.querySelector(`[data-now="${n}"]`).textContent = `average ${short(line.average)}${band}${reserved}${debt}`;
    });
  }

  function receive(event) {
    const agent = agents.get(event.agent);
    if (!agent) {  // a new one; where not all are shown, it may be one of the others
      const { only, more } = document.querySelector("main").dataset;
      if (!only && more === "0") location.reload();
      return;
    }
    agent.marks = event.marks || [];
    agent.section.querySelector("[data-show=changes]").replaceChildren(...agent.marks.slice(-8).reverse().map((mark) =>
      Object.assign(document.createElement("li"), {
        textContent: `${new Date(mark.at * 1000).toLocaleString()}: ${mark.text}${mark.why ? ` (${mark.why})` : ""}, by ${mark.who}` })));
    if (event.history) agent.points = event.history.slice();
    if (event.point) {
      agent.points.push(event.point);
      if (agent.points.length > 600) agent.points = agent.points.filter((_, n) => n % 2);
    }
    const last = agent.points[agent.points.length - 1];
    if (last && last.shares.length !== agent.actions.length) { location.reload(); return; }
    if (last) write(agent, last);
    draw(agent);
  }

  function listen() {
    const state = document.getElementById("live");
    const only = document.querySelector("main").dataset.only;
    const source = new EventSource("/v1/events" + (only ? `?agent=${encodeURIComponent(only)}` : ""));
    source.onopen = () => { state.textContent = "live"; state.className = "live on"; };
    source.onerror = () => { state.textContent = "not connected"; state.className = "live off"; };
    source.onmessage = (message) => receive(JSON.parse(message.data));
  }

  async function ask(method, path, body, headers) {
    const answer = await fetch(path, { method, headers: { "X-Lewa-Page": "1", "Content-Type": "application/json", ...headers },
      body: body === undefined ? undefined : JSON.stringify(body) });
    return [answer.ok, await answer.json()];
  }

  function show(agent, ok, ...parts) {
    const output = agent.section.querySelector("[data-show=result]");
    output.hidden = false;
    output.className = ok ? "" : "wrong";
    output.replaceChildren(...parts);
  }

  // A value of a record in few digits; the journal has all of them.
  function brief(value) {
    if (Array.isArray(value)) return `[${value.map(brief).join(", ")}]`;
    if (value !== null && typeof value === "object") return Object.entries(value).map(([name, part]) => `${name} ${brief(part)}`).join(" ");
    return typeof value === "number" ? short(value) : String(value);
  }

  function told(story) {
    const table = document.createElement("table");
    for (const record of story.records) {
      const row = table.insertRow();
      const body = Object.entries(record.body).map(([name, value]) => `${name} ${brief(value)}`);
      for (const text of [new Date(record.at * 1000).toLocaleString(), `record ${record.seq}`, record.kind, body.join(", ")])
        row.insertCell().textContent = text;
    }
    return table;
  }

  async function change(agent, wanted) {
    const why = agent.section.querySelector("[data-why]").value || "changed on the page";
    const [ok, view] = await ask("PATCH", agent.path, { ...wanted, why }, { "If-Match": `"${agent.version}"` });
    if (!ok) return show(agent, false, view.error);
    agent.version = view.version;
    agent.section.querySelector("[data-show=version]").textContent = view.version;
    agent.section.querySelector("[data-show=mode]").textContent = view.setup.safety.mode;
    view.setup.constraints.forEach((line, n) => {
      agent.section.querySelector(`[data-limit="${n}"]`).textContent = short(line.at_most ?? line.at_least);
    });
    show(agent, true, `changed: this is version ${view.version}`);
  }

  const forms = {
    async story(agent, fields) {
      const [ok, story] = await ask("GET", `${agent.path}/decisions/${encodeURIComponent(fields.get("decision"))}`);
      if (!ok) return show(agent, false, story.error);
      show(agent, true, `${story.decision}: ${story.action}, drawn with probability ${short(story.probability)}; ${story.state}`, told(story));
    },
    line(agent, fields) {
      const line = agent.constraints[Number(fields.get("line"))];
      return change(agent, { constraints: [{ name: line.name, [line.sense.replace(" ", "_")]: Number(fields.get("limit")) }] });
    },
    mode(agent, fields) {
      const fallback = fields.get("fallback");
      return change(agent, { safety: { mode: fields.get("mode"), ...(fallback ? { fallback } : {}) } });
    },
    add(agent, fields) {
      const like = fields.get("like"), share = fields.get("share");
      return change(agent, { add: [{ name: fields.get("name"), ...(like ? { like } : {}), ...(share ? { share: Number(share) } : {}) }] });
    },
    async drop(agent, fields) {
      const action = fields.get("action");
      if (!confirm(`Retire ${action}? It is never drawn again, and its name cannot be used again.`)) return;
      await change(agent, { retire: [action] });
    },
    timeout: (agent, fields) => change(agent, { answers: { close_after: fields.get("close_after") || null } }),
    async retire(agent) {
      if (!confirm(`Retire ${agent.name}? It makes no more decisions. This cannot be undone.`)) return;
      const [ok, view] = await ask("DELETE", agent.path);
      if (ok) location.reload();
      else show(agent, false, view.error);
    },
  };

  for (const section of document.querySelectorAll(".agent")) {
    const { name, version } = section.dataset;
    const agent = { name, section, version: Number(version), path: `/v1/agents/${encodeURIComponent(name)}`, points: [], marks: [],
      plots: new Map(), actions: JSON.parse(section.dataset.actions), constraints: JSON.parse(section.dataset.constraints) };
    agents.set(name, agent);
    for (const form of section.querySelectorAll("form[data-form]"))
      form.addEventListener("submit", (event) => {
        event.preventDefault();
        forms[form.dataset.form](agent, new FormData(form)).catch((error) => show(agent, false, String(error)));
      });
    draw(agent);
  }
  const redraw = () => {
    for (const agent of agents.values()) {
      for (const plot of agent.plots.values()) plot.destroy();
      agent.plots.clear();
      draw(agent);
    }
  };
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", redraw);
  let width = innerWidth;
  addEventListener("resize", () => { if (innerWidth !== width) { width = innerWidth; redraw(); } });
  listen();
})();
