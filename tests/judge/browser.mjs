// judge.html in Chromium: archives as they are hold, every alteration is found, and nothing reaches the network.
// usage: node browser.mjs [--chromium PATH] [--alterations N] ARCHIVE...
// The alterations: N that move a verdict, in cells that judged verdicts depend on, with all digests made again, so that only
// computing again can find them; and N bytes anywhere else, which the digests find. Ends with 1 where one is missed.
import { spawn } from "node:child_process";
import fs from "node:fs";
import net from "node:net";
import os from "node:os";
import path from "node:path";
import { parseArgs } from "node:util";
import { PAGE, files, load, parquet, random, renew, zip } from "./lib.mjs";

const { values: given, positionals: archives } = parseArgs({
  options: { chromium: { type: "string", default: "/usr/bin/chromium" }, alterations: { type: "string", default: "60" } },
  allowPositionals: true,
});
const N = Number(given.alterations), folder = fs.mkdtempSync(path.join(os.tmpdir(), "judge-"));
const Judge = load(), next = random(20261128), pick = list => list[Math.floor(next() * list.length)];
const WHOLE = new Set(["n", "numerator", "denominator", "enough", "n_rows", "n_persons", "denominator_persons", "rows", "without_score",
  "without_counterfactual", "declared"]);

// ---- Chromium by its pipe

const browser = spawn(given.chromium, ["--headless", "--no-sandbox", "--disable-gpu", "--remote-debugging-pipe",
  `--user-data-dir=${path.join(folder, "profile")}`], { stdio: ["ignore", "ignore", "ignore", "pipe", "pipe"] });
const waiting = new Map(), requests = [];
let held = "", last = 0;
browser.stdio[4].on("data", data => {
  const parts = (held + data).split("\0");
  held = parts.pop();
  for (const message of parts.map(part => JSON.parse(part))) {
    if (message.method === "Network.requestWillBeSent") requests.push(message.params.request.url);
    const done = waiting.get(message.id);
    if (done) { waiting.delete(message.id); message.error ? done[1](new Error(message.error.message)) : done[0](message.result); }
  }
});
const ask = (method, params = {}, sessionId) => new Promise((...done) => {
  waiting.set(++last, done);
  browser.stdio[3].write(JSON.stringify({ id: last, method, params, sessionId }) + "\0");
});
const { targetId } = await ask("Target.createTarget", { url: "about:blank" });
const { sessionId } = await ask("Target.attachToTarget", { targetId, flatten: true });
const tell = (method, params) => ask(method, params, sessionId);
const run = async expression => {
  const { result, exceptionDetails } = await tell("Runtime.evaluate", { expression, awaitPromise: true, returnByValue: true });
  if (exceptionDetails) throw new Error(exceptionDetails.exception?.description ?? exceptionDetails.text);
  return result.value;
};
for (const domain of ["Network", "Page", "DOM", "Runtime"]) await tell(`${domain}.enable`);
const until = async condition => { while (!await run(condition)) await new Promise(done => setTimeout(done, 20)); };
let load_ms = Infinity;
for (let i = 0; i < 3; i++) {
  await tell("Page.navigate", { url: `file://${PAGE}?${i}` });
  await until(`location.search === "?${i}" && performance.timing.loadEventEnd > 0`);
  load_ms = Math.min(load_ms, await run("performance.timing.loadEventEnd - performance.timing.navigationStart"));
}

/** What the page says about a file or folder. */
async function judged(name, input = "archive") {
  await run("document.getElementById('result').dataset.done = ''");
  const { result } = await tell("Runtime.evaluate", { expression: `document.getElementById('${input}')` });
  await tell("DOM.setFileInputFiles", { files: [name], objectId: result.objectId });
  return answer();
}
async function answer() {
  await until("document.getElementById('result').dataset.done !== ''");
  return run(`({ done: document.getElementById("result").dataset.done, error: document.getElementById("error").textContent,
    wrong: [...document.querySelectorAll("tr.wrong")].map(row => row.textContent),
    problems: [...document.querySelectorAll("#problems li")].map(item => item.textContent) })`);
}

const failures = [];
const expect = (holds, what) => { if (!holds) { failures.push(what); console.log(`MISSED: ${what}`); } };
let written = 0;
const write = (top, entries) => {
  const name = path.join(folder, `${++written}.zip`);
  fs.writeFileSync(name, zip([...entries].map(([file, bytes]) => [`${top}/${file}`, bytes])));
  return name;
};

// ---- Archives as they are, in each way of giving them

const audits = [];
for (const archive of archives) {
  const { files: entries } = await Judge.read(files(archive)), report = await Judge.judge({ files: entries, packed: true });
  audits.push({ top: path.basename(archive, ".zip"), entries, report });
  const found = await judged(path.resolve(archive));
  expect(found.done === "holds", `${archive} as it is: ${JSON.stringify(found)}`);
}
{
  const { top, entries } = audits[0], unpacked = path.join(folder, top);
  for (const [name, bytes] of entries) {
    fs.mkdirSync(path.dirname(path.join(unpacked, name)), { recursive: true });
    fs.writeFileSync(path.join(unpacked, name), bytes);
  }
  expect((await judged(unpacked, "folder")).done === "holds", "the unpacked folder");
  for (const given of [path.resolve(archives[0]), unpacked]) {
    const data = { items: [], files: [given], dragOperationsMask: 1 };
    await run("document.getElementById('result').dataset.done = ''");
    for (const type of ["dragEnter", "dragOver", "drop"]) await tell("Input.dispatchDragEvent", { type, x: 200, y: 200, data });
    const dropped = await answer();
    expect(dropped.done === "holds", `${given}, dropped: ${JSON.stringify(dropped)}`);
  }
}

// ---- Alterations that move a verdict

/** Tables of an audit that a test may write: gates, metrics and counts with the columns that the page reads. */
function tables(entries) {
  return Object.fromEntries(["gates", "metrics", "counts"].map(name =>
    [name, Judge.parquet(entries.get(`audit/tables/${name}.parquet`), Judge.COLUMNS[name]).map(row => ({ ...row }))]));
}
function altered({ top, entries }, rows) {
  const copy = new Map(entries);
  for (const [name, of] of Object.entries(rows)) copy.set(`audit/tables/${name}.parquet`, parquet(of, Judge.COLUMNS[name], WHOLE));
  return write(top, renew(copy));
}

/** Sets a cell such that its comparison, computed from it, gets another verdict; undefined where this cell cannot. */
function alter(rows, comparison, kind) {
  const { gate, found } = comparison, key = ["arm", "model", "counterfactual", "sensitive", "scope", "from_group", "to_group"];
  const row = rows.gates.find(r => ["gate", "from_group", "to_group", "metric"].every(c => r[c] === gate[c]));
  const most = gate.rule.startsWith("at_most"), pass = gate.verdict === "pass", estimate = gate.rule.includes("estimate");
  // A value on the other side of the limit: beyond it if the gate passes, well within it if not.
  const over = Math.min(0.98, gate.limit + 0.3), under = gate.limit / 4, other = most === pass ? over : under;
  const set = (table, record, column, value) => {
    if (record[column] === null || record[column] === value) return undefined;
    const text = `${table}.${column} ${record[column]} -> ${value}`;
    record[column] = value;
    return text;
  };
  if (kind === "verdict") return set("gates", row, "verdict", pick(["pass", "fail", "inconclusive"].filter(v => v !== gate.verdict)));
  if (kind === "limit") return set("gates", row, "limit", most === pass ? found.value / 4 - 1e-3 : Math.min(found.hi + 0.3, 5));
  if (kind === "enough") return gate.verdict === "inconclusive" ? undefined : set("gates", row, "enough", found.n + 1 + Math.floor(next() * 1e6));
  if (kind === "gates end") return set("gates", row, estimate ? "value" : pass === most ? "hi" : "lo", other);
  const at = (table, record) => rows[table].filter(r => key.every(c => r[c] === record[c]) && r.slice === "" &&
    (r.support ?? "all") === "all" && (r.class ?? "") === "");
  const metric = found.row, own = at("metrics", metric).find(r => r.metric === metric.metric);
  if (kind === "metrics end") return set("metrics", own, estimate ? "value" : pass === most ? "hi" : "lo", other);
  if (found.cases === undefined) {
    // A gap or ratio: the cases of one of its parts.
    const part = rows.metrics.find(r => r.model === metric.model && r.arm === metric.arm && r.sensitive === metric.sensitive && r.scope === "group" &&
      r.metric === { di: "pprev" }[metric.metric] && r.from_group === metric[pick(["from_group", "to_group"])] && r.slice === "" && r.support === "all");
    if (!part || kind !== "numerator") return undefined;
    return set("metrics", part, "numerator", part.numerator > part.denominator / 2 ? 1 : part.denominator);
  }
  if (kind === "numerator") return set("metrics", own, "numerator", Math.round(other * own.denominator));
  if (kind === "denominator") return own.numerator === 0 ? undefined : set("metrics", own, "denominator", Math.max(own.numerator, Math.round(own.numerator / other)));
  if (kind === "n_eff") return gate.verdict === "inconclusive" || own.n_eff === null ? undefined : set("metrics", own, "n_eff", 1);
  // The people of the denominator: all of the place, or those with one decision.
  const known = at("counts", metric).filter(r => r.n > 0 && r.predicted !== "" && r.predicted_cf !== ""), total = of => of.reduce((sum, r) => sum + r.n, 0);
  const cells = [known, ...["0", "1"].map(f => known.filter(r => r.predicted === f))].find(of => total(of) === own.denominator);
  if (!cells) return undefined;
  const halves = [r => r.predicted !== r.predicted_cf, r => r.predicted === r.predicted_cf].map(is => cells.filter(is));
  const [switched, stayed] = metric.metric === "cr" ? halves.reverse() : halves;
  if (switched.length === 0 || stayed.length === 0) return undefined;
  const cell = other === over ? pick(switched) : pick(stayed);
  // So many more people in one cell that the rate crosses the limit: its denominator is at most all of the place.
  const all = total(cells);
  return set("counts", cell, "n", cell.n + Math.ceil(all * (other === over ? 40 : 4 / Math.max(gate.limit, 1e-3))));
}

const places = audits.flatMap(audit => [...audit.report.gates.values()].flat().filter(c => c.status === "judged" && c.found).map(c => [audit, c]));
for (const audit of audits) {
  const found = await judged(altered(audit, tables(audit.entries)));
  expect(found.done === "holds", `${audit.top} with rewritten tables: ${JSON.stringify(found)}`);
}
const kinds = ["verdict", "limit", "enough", "gates end", "metrics end", "numerator", "denominator", "n_eff", "counts"], tried = new Map();
let computed = 0;
for (let i = 0; i < N;) {
  const [audit, comparison] = pick(places), kind = pick(kinds), rows = tables(audit.entries), what = alter(rows, comparison, kind);
  if (what === undefined) continue;
  i++;
  const found = await judged(altered(audit, rows)), named = found.wrong.some(text => text.startsWith(comparison.gate.gate));
  const byDigest = found.problems.some(problem => /list|digest/.test(problem));
  expect(found.done === "wrong" && named && !byDigest, `${audit.top}, ${comparison.gate.gate}: ${what}: ${JSON.stringify(found)}`);
  if (found.done === "wrong" && named && !byDigest) computed++;
  tried.set(kind, (tried.get(kind) ?? 0) + 1);
}

// ---- Alterations elsewhere

let hashed = 0;
for (let i = 0; i < N; i++) {
  const { top, entries } = pick(audits), copy = new Map(entries), name = pick([...copy.keys()].filter(n => n !== "READ-ME.txt"));
  const bytes = Uint8Array.from(copy.get(name)), at = Math.floor(next() * bytes.length);
  bytes[at] ^= 1 + Math.floor(next() * 255);
  copy.set(name, bytes);
  const found = await judged(write(top, copy));
  expect(found.done !== "holds", `${top}/${name}: byte ${at}`);
  if (found.done !== "holds") hashed++;
}

// ---- No network

let reached = 0;
const server = net.createServer(socket => { reached++; socket.destroy(); }).listen(0, "127.0.0.1");
await new Promise(done => server.once("listening", done));
const url = `127.0.0.1:${server.address().port}`;
expect(await run(`fetch("http://${url}/").then(() => false, () => true)`), "fetch is not blocked");
expect(await run(`new Promise(done => { const image = new Image(); image.onload = () => done(false); image.onerror = () => done(true); image.src = "http://${url}/"; })`), "images are not blocked");
expect(await run(`new Promise(done => { try { const socket = new WebSocket("ws://${url}/"); socket.onopen = () => done(false); socket.onerror = () => done(true); } catch { done(true); } })`), "sockets are not blocked");
expect(reached === 0, `the network was reached ${reached} times`);
server.close();
const outside = requests.filter(request => !request.startsWith("file:") && !request.includes(url));
expect(outside.length === 0, `requests of the page: ${outside.join(", ")}`);

const exit = new Promise(done => browser.once("exit", done));
await ask("Browser.close");
await exit;
fs.rmSync(folder, { recursive: true, force: true });
console.log(`${audits.length} archives; ${computed} of ${N} alterations found by computing again (${[...tried].map(([k, n]) => `${n} ${k}`).join(", ")}); ` +
  `${hashed} of ${N} bytes elsewhere; ${fs.statSync(PAGE).size} bytes load in ${load_ms} ms; network reached ${reached} times`);
process.exit(failures.length > 0 ? 1 : 0);
