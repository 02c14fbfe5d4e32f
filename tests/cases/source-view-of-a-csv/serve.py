"""The pickled pipeline behind an endpoint: `{"columns": [...], "rows": [[...]]}` in, scores out."""

import json
import pickle
import sys
from http.server import BaseHTTPRequestHandler, HTTPServer

import pandas as pd

with open("model.pkl", "rb") as file:
    MODEL = pickle.load(file)


class Scoring(BaseHTTPRequestHandler):
    def do_POST(self):
        asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
        rows = pd.DataFrame(asked["rows"], columns=asked["columns"])
        rows = rows.where(rows.notna(), float("nan"))
        scores = MODEL.predict_proba(rows[list(MODEL.feature_names_in_)])[:, 1]
        answer = json.dumps({"scores": scores.tolist(), "version": "1"}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(answer)))
        self.end_headers()
        self.wfile.write(answer)

    def log_message(self, *_):
        pass


HTTPServer(("127.0.0.1", int(sys.argv[1])), Scoring).serve_forever()
