import json

from chaos.spans import parse, read_folder


def request(instance, *spans):
    return json.dumps(
        {
            "resourceSpans": [
                {
                    "resource": {
                        "attributes": [{"key": "service.instance.id", "value": {"stringValue": instance}}],
                    },
                    "scopeSpans": [{"scope": {"name": "t"}, "spans": list(spans)}],
                }
            ]
        }
    )


def span(name, start, end, **fields):
    return {
        "name": name,
        "startTimeUnixNano": str(int(start * 1e9)),
        "endTimeUnixNano": str(int(end * 1e9)),
        "spanId": name,
        **fields,
    }


def test_a_line_is_a_request_with_its_resource():
    line = request(
        "host_1",
        span(
            "a",
            1.5,
            2.5,
            parentSpanId="p",
            links=[{"traceId": "t", "spanId": "before"}],
            attributes=[
                {"key": "token", "value": {"intValue": "7"}},
                {"key": "outcome", "value": {"stringValue": "acquired"}},
                {"key": "held", "value": {"boolValue": False}},
                {"key": "pods", "value": {"arrayValue": {"values": [{"stringValue": "x"}]}}},
            ],
        ),
    )
    (found,) = parse([line])
    assert (found.name, found.start, found.end, found.instance) == ("a", 1.5, 2.5, "host_1")
    assert (found.span_id, found.parent, found.links) == ("a", "p", ("before",))
    assert found.attributes == {"token": 7, "outcome": "acquired", "held": False, "pods": ["x"]}


def test_torn_and_foreign_lines_are_passed_over():
    whole = request("host_1", span("a", 1, 2))
    lines = [whole[:-20], "", "[]", '{"resourceMetrics": []}', '{"resourceSpans": [{"scopeSpans": 3}]}', whole]
    assert [found.name for found in parse(lines)] == ["a"]


def test_files_of_a_folder_are_merged_by_time(tmp_path):
    (tmp_path / "one.jsonl").write_text(request("1", span("late", 5, 6)) + "\n" + request("1", span("first", 1, 2)))
    (tmp_path / "two.jsonl").write_text(request("2", span("middle", 3, 4)) + "\n")
    (tmp_path / "notes.txt").write_text("no spans")
    assert [found.name for found in read_folder(tmp_path)] == ["first", "middle", "late"]
