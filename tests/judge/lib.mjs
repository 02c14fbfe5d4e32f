// What the tests of judge.html share: its functions outside of a browser, and archives with altered tables.
import { createHash } from "node:crypto";
import fs from "node:fs";
import path from "node:path";
import vm from "node:vm";

export const PAGE = path.join(import.meta.dirname, "../../src/proof/judge.html");

/** `Judge` of the page, run without a document. */
export function load() {
  const context = vm.createContext({ crypto, TextDecoder, Blob, DecompressionStream });
  for (const [, script] of fs.readFileSync(PAGE, "utf8").matchAll(/<script>([\s\S]*?)<\/script>/g)) vm.runInContext(script, context);
  return vm.runInContext("Judge", context);
}

/** The files of a folder, or an archive by its name. */
export function files(from) {
  if (!fs.statSync(from).isDirectory()) return new Map([[path.basename(from), new Uint8Array(fs.readFileSync(from))]]);
  const below = fs.readdirSync(from, { recursive: true }).filter(name => fs.statSync(path.join(from, name)).isFile());
  return new Map(below.map(name => [path.join(path.basename(from), name), new Uint8Array(fs.readFileSync(path.join(from, name)))]));
}

export const sha256 = bytes => createHash("sha256").update(bytes).digest("hex");

/** Random numbers in [0, 1), the same on every machine. */
export function random(seed) {
  return () => {
    seed = (seed + 0x6d2b79f5) | 0;
    let t = Math.imul(seed ^ (seed >>> 15), 1 | seed);
    t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
    return ((t ^ (t >>> 14)) >>> 0) / 2 ** 32;
  };
}

// ---- Parquet: one row group, one page per column, PLAIN, not compressed

const varint = n => { const out = []; for (; n > 127; n = Math.floor(n / 128)) out.push((n % 128) | 128); return [...out, n]; };
const zigzag = n => varint(n < 0 ? -2 * n - 1 : 2 * n);
const TYPES = { int: 5, long: 6, text: 8, list: 9, struct: 12 };

/** A thrift struct in the compact protocol: `[id, type, value]` in order of the ids. */
function struct(fields) {
  const out = [];
  let last = 0;
  for (const [id, type, value] of fields) {
    out.push(((id - last) << 4) | TYPES[type], ...encode(type, value));
    last = id;
  }
  return [...out, 0];
}

function encode(type, value) {
  if (type === "int" || type === "long") return zigzag(value);
  if (type === "text") { const bytes = Buffer.from(value); return [...varint(bytes.length), ...bytes]; }
  if (type === "struct") return struct(value);
  const [kind, values] = value;
  const head = values.length < 15 ? [(values.length << 4) | TYPES[kind]] : [0xf0 | TYPES[kind], ...varint(values.length)];
  return [...head, ...values.flatMap(v => encode(kind, v))];
}

/** A table with the columns of `rows`; text, whole numbers in `whole`, and real numbers. */
export function parquet(rows, columns, whole) {
  const chunks = [Buffer.from("PAR1")], metas = [];
  const elements = [[[4, "text", "schema"], [5, "int", columns.length]]];
  let at = 4;
  for (const name of columns) {
    const values = rows.map(row => row[name]), known = values.filter(v => v !== null);
    const type = whole.has(name) ? 2 : known.some(v => typeof v === "string") ? 6 : 5;
    const levels = Buffer.concat(values.map(v => Buffer.from([2, v === null ? 0 : 1])));
    const size = Buffer.alloc(4);
    size.writeUInt32LE(levels.length);
    const bodies = known.map(v => {
      if (type === 6) { const text = Buffer.from(v), n = Buffer.alloc(4); n.writeUInt32LE(text.length); return Buffer.concat([n, text]); }
      const bytes = Buffer.alloc(8);
      if (type === 2) bytes.writeBigInt64LE(BigInt(v)); else bytes.writeDoubleLE(v);
      return bytes;
    });
    const body = Buffer.concat([size, levels, ...bodies]);
    const header = Buffer.from(struct([[1, "int", 0], [2, "int", body.length], [3, "int", body.length],
      [5, "struct", [[1, "int", rows.length], [2, "int", 0], [3, "int", 3], [4, "int", 3]]]]));
    elements.push([[1, "int", type], [3, "int", 1], [4, "text", name]]);
    const bytes = header.length + body.length;
    metas.push([[2, "long", at], [3, "struct", [[1, "int", type], [2, "list", ["int", [0, 3]]], [3, "list", ["text", [name]]], [4, "int", 0],
      [5, "long", rows.length], [6, "long", bytes], [7, "long", bytes], [9, "long", at]]]]);
    chunks.push(header, body);
    at += bytes;
  }
  const footer = Buffer.from(struct([[1, "int", 1], [2, "list", ["struct", elements]], [3, "long", rows.length],
    [4, "list", ["struct", [[[1, "list", ["struct", metas]], [2, "long", at - 4], [3, "long", rows.length]]]]]]));
  const length = Buffer.alloc(4);
  length.writeUInt32LE(footer.length);
  return Buffer.concat([...chunks, footer, length, Buffer.from("PAR1")]);
}

// ---- Archives

/** A zip archive without compression. */
export function zip(entries) {
  const chunks = [], list = [];
  let at = 0;
  for (const [name, bytes] of entries) {
    const text = Buffer.from(name), head = Buffer.alloc(30), entry = Buffer.alloc(46);
    head.writeUInt32LE(0x04034b50);
    entry.writeUInt32LE(0x02014b50);
    for (const [buffer, sizes, n] of [[head, 18, 26], [entry, 20, 28]]) {
      buffer.writeUInt32LE(bytes.length, sizes);
      buffer.writeUInt32LE(bytes.length, sizes + 4);
      buffer.writeUInt16LE(text.length, n);
    }
    entry.writeUInt32LE(at, 42);
    chunks.push(head, text, bytes);
    list.push(entry, text);
    at += 30 + text.length + bytes.length;
  }
  const end = Buffer.alloc(22), size = list.reduce((sum, part) => sum + part.length, 0);
  end.writeUInt32LE(0x06054b50);
  end.writeUInt16LE(list.length / 2, 10);
  end.writeUInt32LE(size, 12);
  end.writeUInt32LE(at, 16);
  return Buffer.concat([...chunks, ...list, end]);
}

/** Hashes in manifest, statement and SHA256SUMS made those of the files, as somebody would who alters an audit. */
export function renew(entries) {
  const json = name => JSON.parse(Buffer.from(entries.get(name)));
  const put = (name, value) => entries.set(name, Buffer.from(value));
  const manifest = json("audit/manifest.json");
  for (const name of Object.keys(manifest.files)) if (entries.has("audit/" + name)) manifest.files[name] = sha256(entries.get("audit/" + name));
  manifest.job_hash = manifest.files["job.resolved.yaml"];
  put("audit/manifest.json", JSON.stringify(manifest));
  if (entries.has("statement.intoto.json")) {
    const statement = json("statement.intoto.json");
    for (const subject of statement.subject) subject.digest.sha256 = sha256(entries.get(subject.name));
    put("statement.intoto.json", JSON.stringify(statement));
  }
  const listed = [...entries.keys()].filter(name => !["READ-ME.txt", "SHA256SUMS"].includes(name));
  put("SHA256SUMS", listed.map(name => `${sha256(entries.get(name))}  ${name}\n`).join(""));
  return entries;
}
