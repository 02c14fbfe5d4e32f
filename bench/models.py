"""Times the training and scoring of models compared with LightGBM, scikit-learn and onnxruntime, in one run.

Adult, official split, the same encoded columns for everybody (z-scored numbers, indicators of levels):

    cfaudit       one run of a job with boosting, forest and logistic regression; the stages `train` are timed by the log
    LightGBM      the Python package with the settings that cfaudit gives the library
    scikit-learn  HistGradientBoosting, RandomForest and LogisticRegression with settings as near as they go

A million rows of Adult repeated, numbers only, scored by the ONNX file of a LightGBM model of 100 trees:

    cfaudit       the stage `score` of a job with an `onnx` model
    onnxruntime   a Python script that reads the same Parquet file in batches of 65,536 rows and writes the scores as Parquet

    python3 bench/models.py --data-dir data [--rows 1000000] [--repeats 3] [--cfaudit target/debug/cfaudit] [--folder target/bench]

Every program gets one thread. Training alone is timed inside. Runs alternate, tables show the median and the range.
"""

import argparse
import json
import shutil
import statistics
import sys
from pathlib import Path

import timing
from timing import HERE, measured, span

NUMBERS = ["age", "hours-per-week", "capital-gain", "capital-loss", "education-num"]
WORDS = ["workclass", "marital-status", "occupation", "relationship", "race", "native-country"]


def adult(source: str):
    """Encoded training and test rows with their labels."""
    import numpy as np
    import pandas as pd

    table = pd.read_parquet(source)
    train = (table["split"] == "train").to_numpy()
    label = (table["income"] == ">50K").to_numpy().astype(int)
    columns = [((table[c] - table[c][train].mean()) / table[c][train].std(ddof=0)).to_numpy() for c in NUMBERS]
    for name in ["sex", *WORDS]:
        values = table[name].fillna("missing")
        levels = sorted(values[train].unique())
        columns += [(values == level).to_numpy().astype(float) for level in (levels[1:] if len(levels) == 2 else levels)]
    matrix = np.column_stack(columns).astype(np.float32)
    return matrix[train], label[train], matrix[~train], label[~train]


def train(program: str, model: str, source: str) -> None:
    """One model by one Python package, in a process of its own."""
    import time

    from sklearn.metrics import roc_auc_score

    x, y, x_test, y_test = adult(source)
    start = time.process_time()
    if program == "LightGBM":
        import lightgbm

        common = {"num_threads": 1, "deterministic": True, "force_row_wise": True, "verbosity": -1, "min_data_in_leaf": 20}
        settings = {
            "boosting": {"objective": "binary", "num_leaves": 31, "learning_rate": 0.1},
            "forest": {"objective": "regression", "boosting": "rf", "num_leaves": 255, "bagging_freq": 1, "bagging_fraction": 0.632,
                       "feature_fraction_bynode": 0.3, "seed": 1},
        }[model]
        fitted = lightgbm.train({**common, **settings}, lightgbm.Dataset(x, y), 100)
        fit_seconds = time.process_time() - start
        scores = fitted.predict(x_test, num_threads=1)
    else:
        from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
        from sklearn.linear_model import LogisticRegression

        fitted = {
            "boosting": lambda: HistGradientBoostingClassifier(max_iter=100, max_leaf_nodes=31, learning_rate=0.1, min_samples_leaf=20,
                                                               early_stopping=False),
            "forest": lambda: RandomForestClassifier(100, max_leaf_nodes=255, min_samples_leaf=20, max_features=0.3, max_samples=0.632,
                                                     random_state=0, n_jobs=1),
            "logistic": lambda: LogisticRegression(C=1.0, max_iter=1000),
        }[model]().fit(x, y)
        fit_seconds = time.process_time() - start
        scores = fitted.predict_proba(x_test)[:, 1]
    print(json.dumps({"fit": fit_seconds, "auc": roc_auc_score(y_test, scores)}))


def aucs(out: str) -> None:
    """AUC of each model from the outcomes of cfaudit."""
    import pandas as pd
    from sklearn.metrics import roc_auc_score

    table = pd.read_parquet(f"{out}/rows/outcomes.parquet")
    print(json.dumps({model: roc_auc_score(rows["label"], rows["score"]) for model, rows in table.groupby("model")}))


def many(source: str, rows: int, out: str, model: str) -> None:
    """Adult as numbers again and again, and a LightGBM model of these numbers as an ONNX file."""
    import numpy as np
    import pandas as pd
    from lightgbm import LGBMClassifier
    from onnxmltools import convert_lightgbm
    from onnxmltools.convert.common.data_types import FloatTensorType

    table = pd.read_parquet(source)
    columns = {name: table[name].to_numpy(dtype=np.float64) for name in NUMBERS}
    columns |= {name: pd.Categorical(table[name].fillna("missing")).codes.astype(np.float64) for name in WORDS}
    encoded = pd.DataFrame(columns)
    fitted = LGBMClassifier(n_estimators=100, num_leaves=31, n_jobs=1, verbosity=-1).fit(encoded.to_numpy(np.float32), (table["income"] == ">50K").astype(int))
    types = [("X", FloatTensorType([None, encoded.shape[1]]))]
    Path(model).write_bytes(convert_lightgbm(fitted, initial_types=types, zipmap=False, target_opset=15).SerializeToString())
    encoded["sex"] = (table["sex"] == "Female").astype(np.int64)
    encoded.iloc[np.arange(rows) % len(encoded)].to_parquet(out, row_group_size=65_536, index=False)


def score(model: str, source: str, out: str) -> None:
    """The ONNX file by Python's onnxruntime."""
    import time

    import numpy as np
    import onnxruntime
    import pyarrow as pa
    import pyarrow.parquet as pq

    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    session = onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])
    inside = 0.0
    with pq.ParquetWriter(out, pa.schema([("score", pa.float64())])) as writer:
        for batch in pq.ParquetFile(source).iter_batches(65_536, columns=NUMBERS + WORDS):
            matrix = np.column_stack([column.to_numpy() for column in batch.columns]).astype(np.float32)
            start = time.process_time()
            scores = session.run(["probabilities"], {"X": matrix})[0][:, 1]
            inside += time.process_time() - start
            writer.write_table(pa.table({"score": scores.astype(np.float64)}))
    print(json.dumps({"inside": inside}))


def compared(cache: str, other: str) -> None:
    """The largest difference between the scores of cfaudit and those of Python."""
    import numpy as np
    import pyarrow.parquet as pq

    (file,) = [path for path in Path(cache).glob("*/*/scores.parquet")]
    ours, theirs = (pq.read_table(path).column("score").to_numpy() for path in (file, other))
    print(json.dumps({"rows": len(ours), "largest": float(np.abs(ours - theirs).max())}))


def asked(*arguments: str) -> dict:
    """What a step of this file prints, in a process of its own."""
    return timing.asked([sys.executable, __file__, *arguments])


def stages(log: Path) -> dict[str, float]:
    ends = [line for line in map(json.loads, log.read_text().splitlines()) if line["event"] == "stage.end"]
    return {line["stage"]: line["ms"] / 1000 for line in ends}


def training(args: argparse.Namespace, source: Path, folder: Path) -> None:
    cache, out, log = folder / "cache", folder / "out", folder / "log.json"
    found: dict[tuple[str, str], list[dict]] = {}
    others = [("LightGBM", "boosting"), ("scikit-learn", "boosting"), ("LightGBM", "forest"), ("scikit-learn", "forest"),
              ("scikit-learn", "logistic")]
    for _ in range(args.repeats):
        shutil.rmtree(cache, ignore_errors=True)
        run = measured([args.cfaudit, "run", str(HERE / "models-adult.yaml"), "--set", f"rows={source}", "--out", str(out), "--cache",
                        str(cache), "--threads", "1", "--log", "json"], {}, log=log)
        auc, seconds = asked("--step", "aucs", str(out)), stages(log)
        for model in ["boosting", "forest", "logistic"]:
            found.setdefault(("cfaudit", model), []).append({"fit": seconds[f"train/model={model}"], "auc": auc[model], "memory": run["memory"]})
        for program, model in others:
            run = measured([sys.executable, __file__, "--step", "train", program, model, str(source)], {"OMP_NUM_THREADS": "1"})
            found.setdefault((program, model), []).append({**json.loads(run["out"]), "memory": run["memory"]})
    print("\ntraining on Adult\n| model | program | s | AUC on the test rows | peak MB of the program |\n| --- | --- | --- | --- | --- |")
    for (program, model), runs in sorted(found.items(), key=lambda item: item[0][1]):
        fit, memory = ([run[key] for run in runs] for key in ("fit", "memory"))
        print(f"| {model} | {program} | {span(fit)} | {runs[-1]['auc']:.4f} | {span(memory, 0)} |")
    print("cfaudit: the stage `train` by the clock, which reads the rows, learns the encoding and writes the model, and one run for all three "
          "models; the others: CPU seconds of `fit` with the encoded rows in memory", flush=True)


def scoring(args: argparse.Namespace, source: Path, folder: Path) -> None:
    rows, model, cache, out, log = (folder / name for name in ("rows.parquet", "model.onnx", "cache", "scores.parquet", "log.json"))
    asked("--step", "many", str(source), str(args.rows), str(rows), str(model))
    found: dict[str, list[dict]] = {"cfaudit": [], "onnxruntime": []}
    for _ in range(args.repeats):
        shutil.rmtree(cache, ignore_errors=True)
        run = measured([args.cfaudit, "run", str(HERE / "models-onnx.yaml"), "--set", f"rows={rows}", "--set", f"model={model}", "--until",
                        "score", "--out", str(folder / "out-onnx"), "--cache", str(cache), "--threads", "1", "--log", "json"], {}, log=log)
        found["cfaudit"].append({**run, "score": stages(log)["score/model=onnx"]})
        run = measured([sys.executable, __file__, "--step", "score", str(model), str(rows), str(out)], {})
        found["onnxruntime"].append({**run, "score": json.loads(run["out"])["inside"]})
    print(f"\nscoring {args.rows:,} rows by ONNX\n| program | scoring s | rows per s of it | CPU s of the program | peak MB |\n"
          "| --- | --- | --- | --- | --- |")
    for program, runs in found.items():
        score, cpu, memory = ([run[key] for run in runs] for key in ("score", "cpu", "memory"))
        print(f"| {program} | {span(score)} | {args.rows / statistics.median(score):,.0f} | {span(cpu)} | {span(memory, 0)} |")
    print("cfaudit: the stage `score` by the clock, which reads and writes Parquet; the program also prepares the rows. onnxruntime: the runs of "
          "the session; the program also reads and writes Parquet")
    print("largest difference of a score: {largest:.1e} over {rows:,} rows".format(**asked("--step", "compared", str(cache), str(out))))


def main() -> None:
    if sys.argv[1:2] == ["--step"]:
        step, arguments = sys.argv[2], sys.argv[3:]
        if step == "many":
            arguments[1] = int(arguments[1])
        return {"train": train, "aucs": aucs, "many": many, "score": score, "compared": compared}[step](*arguments)
    parser = timing.parser(__doc__)
    parser.add_argument("--rows", type=int, default=1_000_000, help="rows to score by ONNX")
    parser.set_defaults(threads=1)
    args = parser.parse_args()
    source = (args.data_dir / "adult" / "adult.parquet").resolve()
    if not source.exists():
        sys.exit(f"{source} is absent: --data-dir names the folder that has adult/adult.parquet")
    folder = (args.folder / "models").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    timing.heading(args)
    training(args, source, folder)
    scoring(args, source, folder)


if __name__ == "__main__":
    main()
