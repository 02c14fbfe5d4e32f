"""Adult for the two scripts that cfaudit is compared with: what the columns are, and the rows as numbers.

The kinds and the rules for missing values are those of `generation-data.yaml`: a nominal value that is missing is the level `missing`, a
row with a number that is missing is dropped. Levels are in the order of their bytes.
"""

CONTINUOUS = ["age", "hours-per-week", "capital-gain", "capital-loss"]
ORDINAL = ["education-num"]
NOMINAL = ["workclass", "marital-status", "occupation", "relationship", "race", "native-country"]
NUMBERS = CONTINUOUS + ORDINAL
SENSITIVE, GROUPS = "sex", ["Male", "Female"]
LABEL, POSITIVE = "income", ">50K"
COLUMNS = [SENSITIVE, *NUMBERS, *NOMINAL, LABEL]
MISSING = "missing"

# What plausible may move, and its filter; greedy moves what is related. All else is the default setting.
MOVE = ["hours-per-week", "occupation", "workclass", "capital-gain"]
FILTER = {"k": 1.5, "explained": 0.9, "max_components": 10}
TAU, MAX_DEPTH, MIN_SUPPORT, MIN_STRATUM = 0.5, 2, 10, 10
IMPOSSIBLE, IMPOSSIBLE_RATIO, MIN_EXPECTED = 0.01, 0.05, 3
ALPHA, EPS, BETTER, HALF = 0.05, 1e-12, 1e-9, 0.5 + 1e-9
COUNTERS = ["n_changed", "n_impossible", "n_clamped", "n_fallback", "n_kept"]


def read(path):
    """Numbers as float64, levels as codes, the levels of each nominal feature, the group and the label of each row, its number."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    table = pq.read_table(path, columns=COLUMNS, read_dictionary=[SENSITIVE, *NOMINAL, LABEL]).unify_dictionaries()
    row = np.arange(table.num_rows)
    known = np.ones(table.num_rows, dtype=bool)
    for name in NUMBERS:
        if table[name].null_count:
            known &= table[name].is_valid().to_numpy()
    if not known.all():
        table, row = table.filter(pa.array(known)), row[known]
    numbers = {name: table[name].to_numpy().astype(np.float64) for name in NUMBERS}

    def coded(name, levels):
        column = table[name]
        words = column.chunk(0).dictionary.to_pylist()
        if levels is None:
            levels = sorted({*words, *([MISSING] if column.null_count else [])}, key=lambda word: word.encode())
        at = np.array([levels.index(word) if word in levels else -1 for word in words], dtype=np.int16)
        absent = levels.index(MISSING) if MISSING in levels else -1
        chunks = [pc.fill_null(chunk.indices, -1).to_numpy() for chunk in column.chunks]
        codes = np.concatenate(chunks)
        return np.where(codes < 0, np.int16(absent), at[codes]), levels

    codes, levels = {}, {}
    for name in NOMINAL:
        codes[name], levels[name] = coded(name, None)
    group, _ = coded(SENSITIVE, GROUPS)
    label, words = coded(LABEL, None)
    return numbers, codes, levels, group, (label == words.index(POSITIVE)).astype(np.int8), row
