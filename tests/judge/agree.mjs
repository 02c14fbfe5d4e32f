// Judges audits (folders or archives) by the code of judge.html, outside of a browser, and compares with what their tables say.
// usage: node agree.mjs AUDIT...
// Ends with 1 where a digest, value, interval or verdict is another one, or a comparison is not judged without a reason.
import path from "node:path";
import { files, load } from "./lib.mjs";

const Judge = load(), all = { judged: 0, "not judged": 0, wrong: 0 }, reasons = new Map();
let problems = 0;
for (const audit of process.argv.slice(2)) {
  const report = await Judge.judge(await Judge.read(files(audit)));
  problems += report.problems.length;
  for (const problem of report.problems) console.log(`${path.basename(audit)}: ${problem}`);
  for (const { gate, status, note } of [...report.gates.values()].flat()) {
    all[status]++;
    if (status === "judged") continue;
    if (status === "not judged" && note === "") problems++;
    reasons.set(note, (reasons.get(note) ?? 0) + 1);
    console.log(`${path.basename(audit)}: ${gate.gate} ${gate.from_group ?? ""} ${gate.to_group ?? ""}: ${status}: ${note}`);
  }
}
console.log([...reasons].map(([reason, n]) => `${n} x ${reason}`).sort().join("\n"));
console.log(`judged ${all.judged}, not judged ${all["not judged"]}, wrong ${all.wrong}, other problems ${problems}`);
process.exit(all.wrong + problems > 0 ? 1 : 0);
