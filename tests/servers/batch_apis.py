"""The batch interfaces of the three providers, in the formats that their SDKs read and write."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from urllib.parse import parse_qsl, urlsplit

from tests.servers.answers import Answer
from tests.servers.batches import (
    DAY_S,
    Batch,
    BatchStore,
    Call,
    File,
    Json,
    answer_of,
    iso,
    json_lines,
    lines_in,
    page_of,
    refusal,
)
from tests.servers.gemini_batches import google_batches, google_create, google_files, google_upload

FULL = "Enqueued token limit reached for some-model in organization org-1. Limit: 2,000,000"


def route(
    store: BatchStore, method: str, url: str, headers: Mapping[str, str], body: bytes
) -> Answer | None:
    """The answer to a request about files or batches; None if it is about neither."""
    parts = urlsplit(url)
    path, query = parts.path, dict(parse_qsl(parts.query))
    known = (prefix for prefix in ROUTES if path.startswith(prefix))
    prefix = next(known, None)
    if prefix is None and not path.endswith(":batchGenerateContent"):
        return None
    with store.lock:
        store.calls.append(f"{method} {path}")
        if store.switches.down:
            return Answer(drop=True)
        rest = path.removeprefix(prefix or "").strip("/")
        answer = google_create if prefix is None else ROUTES[prefix]
        return answer(Call(store, method, rest, query, headers, body))


def _openai_files(call: Call) -> Answer:
    store = call.store
    id, _, what = call.rest.partition("/")
    if call.method == "POST":
        fields = _multipart(call.headers["content-type"], call.body)
        if fields["purpose"][1] != b"batch":
            return refusal(400, "purpose must be batch")
        store.uploads += 1
        file = store.keep(*fields["file"], "file-")
        if store.take("lose_uploads"):
            return Answer(drop=True)
        return answer_of(_openai_file(file))
    if not id:
        files = [] if store.take("hide") else [*store.files.values()][::-1]
        shown = page_of(files, call.query, "after", "limit")
        more = bool(shown) and shown[-1] is not files[-1]
        return answer_of(
            {"object": "list", "data": [_openai_file(file) for file in shown], "has_more": more}
        )
    if id not in store.files:
        return refusal(404, f"No such File object: {id}")
    if call.method == "DELETE":
        store.deleted.append(id)
        del store.files[id]
        return answer_of({"id": id, "object": "file", "deleted": True})
    if what == "content":
        return store.download(store.files[id].data)
    return answer_of(_openai_file(store.files[id]))


def _openai_file(file: File) -> Json:
    return {
        "id": file.id,
        "object": "file",
        "bytes": len(file.data),
        "created_at": int(file.created),
        "filename": file.name,
        "purpose": "batch",
        "status": "processed",
    }


def _openai_batches(call: Call) -> Answer:
    store = call.store
    id, _, what = call.rest.partition("/")
    if call.method == "POST" and not id:
        asked = json.loads(call.body)
        if asked["input_file_id"] not in store.files:
            return refusal(404, "No such File object")
        if store.take("full"):
            return refusal(429, FULL, "token_limit_exceeded")
        rows = lines_in(store.files[asked["input_file_id"]].data)
        token = str((asked.get("metadata") or {}).get("vlm_eval", ""))
        sound = all(row["method"] == "POST" and row["url"] == asked["endpoint"] for row in rows)
        if not sound or asked["completion_window"] != "24h":
            return refusal(400, "the lines do not suit the endpoint")
        try:
            lines = [(row["custom_id"], row["body"]) for row in rows]
            batch = store.begin("openai", "", token, lines)
        except ValueError as error:
            return refusal(400, str(error))
        batch.files["input"] = asked["input_file_id"]
        return Answer(drop=True) if store.take("lose_created") else answer_of(_openai(store, batch))
    if not id:
        mine = [batch for batch in store.batches.values() if batch.provider == "openai"][::-1]
        mine = [] if store.take("hide") else mine
        shown = page_of(mine, call.query, "after", "limit")
        more = bool(shown) and shown[-1] is not mine[-1]
        data = [_openai(store, batch) for batch in shown]
        return answer_of({"object": "list", "data": data, "has_more": more})
    found = store.cancel(id) if what == "cancel" else store.look(id)
    if found is None:
        return refusal(404, f"No batch found with id '{id}'.")
    return answer_of(_openai(store, found))


def _openai(store: BatchStore, batch: Batch) -> Json:
    """A batch, with files of its results as soon as there are any."""
    if batch.over and batch.results and "output" not in batch.files:
        rows = [_openai_line(number, *result) for number, result in enumerate(batch.results)]
        good = [row for row in rows if row["response"] and row["response"]["status_code"] == 200]
        bad = [row for row in rows if row not in good]
        batch.files["output"] = batch.files["error"] = ""
        if good:
            batch.files["output"] = store.keep("out.jsonl", json_lines(good), "file-out").id
        if bad:
            batch.files["error"] = store.keep("err.jsonl", json_lines(bad), "file-err").id
    status = "in_progress"
    if batch.over:
        status = "expired" if batch.expired else "completed"
        status = "failed" if batch.error else status
        status = "cancelled" if batch.cancelled else status
        status = store.switches.state or status
    elif batch.cancelled:
        status = "cancelling"
    errors = [{"code": "token_limit_exceeded" if batch.full else "x", "message": batch.error}]
    body: Json = {
        "id": batch.id,
        "object": "batch",
        "endpoint": "/v1/chat/completions",
        "completion_window": "24h",
        "input_file_id": batch.files["input"],
        "status": status,
        "created_at": int(batch.created),
        "expires_at": int(batch.created + DAY_S),
        "completed_at": int(batch.created) if status == "completed" else None,
        "output_file_id": batch.files.get("output") or None,
        "error_file_id": batch.files.get("error") or None,
        "errors": {"object": "list", "data": errors} if batch.error else None,
        "request_counts": {
            "total": len(batch.lines),
            "completed": batch.good,
            "failed": len(batch.results) - batch.good,
        },
        "metadata": {"vlm_eval": batch.token} if batch.token else None,
    }
    return store.shown(body)


def _openai_line(number: int, id: str, status: int | None, body: Json) -> Json:
    line: Json = {"id": f"batch_req_{number}", "custom_id": id, "response": None, "error": None}
    if status is None:
        line["error"] = {"code": "batch_expired", "message": "not answered within the window"}
    else:
        line["response"] = {"status_code": status, "request_id": f"req_{number}", "body": body}
    return line


def _anthropic(call: Call) -> Answer:
    store = call.store
    id, _, what = call.rest.partition("/")
    if call.method == "POST" and not id:
        if store.take("full"):
            message = "Number of batch requests in the processing queue exceeds the limit"
            return refusal(429, message, kind="rate_limit_error")
        rows = json.loads(call.body)["requests"]
        try:
            lines = [(row["custom_id"], row["params"]) for row in rows]
            batch = store.begin("anthropic", "", "", lines)
        except ValueError as error:
            return refusal(400, str(error))
        return (
            Answer(drop=True)
            if store.take("lose_created")
            else answer_of(_message_batch(store, batch))
        )
    if not id:
        mine = [batch for batch in store.batches.values() if batch.provider == "anthropic"][::-1]
        mine = [] if store.take("hide") else mine
        shown = page_of(mine, call.query, "after_id", "limit")
        more = bool(shown) and shown[-1] is not mine[-1]
        ends = {"first_id": shown[0].id, "last_id": shown[-1].id} if shown else {}
        data = [_message_batch(store, batch) for batch in shown]
        return answer_of({"data": data, "has_more": more, **ends})
    if what == "results":
        known = store.batches.get(id)
        if known is None or not known.over:
            return refusal(404, "no results", kind="not_found_error")
        return store.download(json_lines([_anthropic_line(*one) for one in known.results]))
    if call.method == "DELETE":
        store.deleted.append(id)
        store.batches.pop(id, None)
        return answer_of({"id": id, "type": "message_batch_deleted"})
    found = store.cancel(id) if what == "cancel" else store.look(id)
    if found is None:
        return refusal(404, "no such batch", kind="not_found_error")
    return answer_of(_message_batch(store, found))


def _message_batch(store: BatchStore, batch: Batch) -> Json:
    counts = dict.fromkeys(("processing", "succeeded", "errored", "canceled", "expired"), 0)
    if batch.over:
        left = len(batch.lines) - len(batch.results)
        counts["succeeded"] = batch.good
        unanswered = sum(status is None for _, status, _ in batch.results)
        counts["canceled" if batch.cancelled else "expired"] = unanswered
        counts["errored"] = left + len(batch.results) - batch.good - unanswered
    else:
        counts["processing"] = len(batch.lines)
    moment = iso(batch.created)
    url = f"http://results.example/v1/messages/batches/{batch.id}/results"
    status = (store.switches.state or "ended") if batch.over else "in_progress"
    status = "canceling" if batch.cancelled and not batch.over else status
    body: Json = {
        "id": batch.id,
        "type": "message_batch",
        "processing_status": status,
        "request_counts": counts,
        "created_at": moment,
        "expires_at": iso(batch.created + DAY_S),
        "ended_at": moment if batch.over else None,
        "archived_at": None,
        "cancel_initiated_at": moment if batch.cancelled else None,
        "results_url": url if batch.over else None,
    }
    return store.shown(body)


def _anthropic_line(id: str, status: int | None, body: Json) -> Json:
    if status is None:
        return {"custom_id": id, "result": {"type": "expired"}}
    if status == 200:
        return {"custom_id": id, "result": {"type": "succeeded", "message": body}}
    return {"custom_id": id, "result": {"type": "errored", "error": body}}


def _multipart(content_type: str, body: bytes) -> dict[str, tuple[str, bytes]]:
    """The fields of a form: the name of the file (or "") and the bytes of each."""
    boundary = content_type.partition("boundary=")[2].strip('"').encode()
    fields = {}
    for part in body.split(b"--" + boundary)[1:-1]:
        head, _, data = part.partition(b"\r\n\r\n")
        names = dict(re.findall(r'\b(name|filename)="([^"]*)"', head.decode()))
        fields[names["name"]] = (names.get("filename", ""), data.removesuffix(b"\r\n"))
    return fields


ROUTES = {
    "/v1/messages/batches": _anthropic,
    "/v1/files": _openai_files,
    "/v1/batches": _openai_batches,
    "/upload/v1beta/files": google_upload,
    "/v1beta/files": google_files,
    "/v1beta/batches": google_batches,
}
