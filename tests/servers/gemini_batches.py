"""Files and batches of the Gemini API."""

from __future__ import annotations

import json
import re

from tests.servers.answers import Answer
from tests.servers.batches import (
    Batch,
    BatchStore,
    Call,
    File,
    Json,
    answer_of,
    iso,
    json_lines,
    lines_in,
    refusal,
)


def google_upload(call: Call) -> Answer:
    store = call.store
    if call.headers["x-goog-upload-command"] == "start":
        asked = json.loads(call.body or b"{}").get("file", {})
        file = store.keep(
            asked.get("displayName") or asked.get("display_name", ""), b"", "files/in"
        )
        url = f"http://{call.headers['host']}/upload/v1beta/files?upload_id={file.id}"
        file.created = 0.0  # not listed before it is whole
        return answer_of({}, **{"x-goog-upload-url": url, "x-goog-upload-status": "active"})
    file = store.files[call.query["upload_id"]]
    if int(call.headers["x-goog-upload-offset"]) != len(file.data):
        return refusal(400, "a piece at the wrong place")
    file.data += call.body
    if "finalize" not in call.headers["x-goog-upload-command"]:
        return answer_of({}, **{"x-goog-upload-status": "active"})
    store.uploads += 1
    file.created = 1.0
    if store.take("lose_uploads"):
        return Answer(drop=True)
    return answer_of({"file": _google_file(file)}, **{"x-goog-upload-status": "final"})


def _google_file(file: File) -> Json:
    return {
        "name": file.id,
        "displayName": file.name,
        "mimeType": "application/jsonl",
        "sizeBytes": str(len(file.data)),
        "state": "ACTIVE",
    }


def google_files(call: Call) -> Answer:
    store = call.store
    name, _, what = call.rest.partition(":")
    if not name:
        files = [] if store.take("hide") else [*store.files.values()]
        return answer_of({"files": [_google_file(file) for file in files if file.created]})
    file = store.files.get(f"files/{name}")
    if file is None:
        return refusal(404, "no such file")
    if call.method == "DELETE":
        store.deleted.append(file.id)
        del store.files[file.id]
        return answer_of({})
    return store.download(file.data) if what == "download" else answer_of(_google_file(file))


def google_create(call: Call) -> Answer:
    store = call.store
    asked = json.loads(call.body)["batch"]
    if store.take("full"):
        message = "Batch enqueued tokens exceeded for this model"
        error = {"code": 429, "message": message, "status": "RESOURCE_EXHAUSTED"}
        return Answer(status=429, raw=json.dumps({"error": error}).encode())
    file = store.files.get(asked["inputConfig"]["fileName"])
    if file is None:
        return refusal(404, "no such file")
    found = re.fullmatch(r"v1beta/(?:models|tunedModels)/([\w.-]+):batchGenerateContent", call.rest)
    if found is None:
        return refusal(404, f"no such model: {call.rest}")
    model = found[1]
    lines = [(row["key"], row["request"]) for row in lines_in(file.data)]
    try:
        batch = store.begin("google", model, asked["displayName"], lines)
    except ValueError as error:
        return refusal(400, str(error))
    return Answer(drop=True) if store.take("lose_created") else answer_of(_operation(store, batch))


def google_batches(call: Call) -> Answer:
    store = call.store
    name, _, what = call.rest.partition(":")
    if not name:
        mine = [batch for batch in store.batches.values() if batch.provider == "google"]
        mine = [] if store.take("hide") else mine
        return answer_of({"operations": [_operation(store, batch) for batch in mine]})
    id = f"batches/{name}"
    if call.method == "DELETE":
        store.batches.pop(id, None)
        return answer_of({})
    found = store.cancel(id) if what == "cancel" else store.look(id)
    if found is None:
        return refusal(404, "no such batch")
    return answer_of({} if what == "cancel" else _operation(store, found))


def _operation(store: BatchStore, batch: Batch) -> Json:
    if batch.over and batch.results and "output" not in batch.files and not batch.cancelled:
        rows = [_google_line(*result) for result in batch.results]
        batch.files["output"] = store.keep("", json_lines(rows), "files/batch-out").id
    state = "BATCH_STATE_RUNNING"
    if batch.over:
        state = "BATCH_STATE_FAILED" if batch.error else "BATCH_STATE_SUCCEEDED"
        state = "BATCH_STATE_CANCELLED" if batch.cancelled else state
        state = store.switches.state or state
    stats = {"requestCount": str(len(batch.lines))}
    if batch.results:
        stats["successfulRequestCount"] = str(batch.good)
        stats["failedRequestCount"] = str(len(batch.results) - batch.good)
    output = {"responsesFile": batch.files["output"]} if "output" in batch.files else {}
    metadata: Json = {
        "@type": "type.googleapis.com/google.ai.generativelanguage.v1main.GenerateContentBatch",
        "model": f"models/{batch.model}",
        "displayName": batch.token,
        "state": state,
        "createTime": iso(batch.created),
        "batchStats": stats,
        "name": batch.id,
    }
    body: Json = {"name": batch.id, "metadata": metadata}
    if batch.over:
        body["done"] = True
        if batch.error:
            body["error"] = {"code": 8 if batch.full else 3, "message": batch.error}
        else:
            metadata["output"] = output
            body["response"] = {"@type": "type.googleapis.com/x", **output}
    return store.shown(body)


def _google_line(id: str, status: int | None, body: Json) -> Json:
    if status == 200:
        return {"key": id, "response": body}
    codes = {400: 3, 401: 16, 403: 7, 404: 5, 429: 8, 503: 14, 504: 4, None: 4}
    message = body.get("error", {}).get("message", "the time is over")
    return {"key": id, "error": {"code": codes.get(status, 13), "message": message}}
