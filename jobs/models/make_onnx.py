"""Made repaid.onnx, which jobs/onnx.yaml audits: a pipeline of scikit-learn as an ONNX file with an input per column.

python3 jobs/models/make_onnx.py      needs numpy, pandas, scikit-learn, skl2onnx (made with 2.4.6, 3.1.1, 1.9.1, 1.20.0)
"""

from pathlib import Path

import numpy as np
import pandas as pd
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn.compose import make_column_transformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

NUMBERS, WORDS = ["age", "income", "debt"], ["education", "sex"]

# Other people from the same distribution as in the job.
draw = np.random.default_rng(1)
n = 20_000
sex = draw.choice(["Male", "Female"], n, p=[0.55, 0.45])
age = 43 + draw.normal(0, 12, n)
education = draw.choice(["primary", "secondary", "tertiary"], n, p=[0.30, 0.45, 0.25])
income = 22 + 0.25 * age + 5 * (education == "secondary") + 14 * (education == "tertiary") - 4 * (sex == "Female") + draw.normal(0, 7, n)
debt = 16 + 0.15 * income + draw.normal(0, 6, n)
logit = -1.2 + 0.11 * income - 0.09 * debt - 0.35 * (sex == "Female")
repaid = draw.random(n) < 1 / (1 + np.exp(-logit))

people = pd.DataFrame({"age": age, "income": income, "debt": debt, "education": education, "sex": sex})
columns = make_column_transformer((StandardScaler(), NUMBERS), (OneHotEncoder(), WORDS))
model = make_pipeline(columns, LogisticRegression(max_iter=1000)).fit(people, repaid)
types = [(name, FloatTensorType([None, 1])) for name in NUMBERS] + [(name, StringTensorType([None, 1])) for name in WORDS]
exported = to_onnx(model, initial_types=types, options={"zipmap": False}, target_opset={"": 17, "ai.onnx.ml": 3})
(Path(__file__).parent / "repaid.onnx").write_bytes(exported.SerializeToString())
