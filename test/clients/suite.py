# Shared by the Python suites: asserts a refusal and runs the tests of a file. python.test.ts reads one line of JSON
# per test.
import json
import traceback

from azure.core.exceptions import HttpResponseError


def refusal(errors):
    """Asserts that a call is refused with a code, and raises what programs catch for it: the SDK chooses the
    class by the code; where it knows none, by nothing."""

    def refused(code, call, *args, **kwargs):
        try:
            call(*args, **kwargs)
        except HttpResponseError as failure:
            found = getattr(failure, "error_code", None)
            if found is None:  # create_entity raises errors without it, and tables have it only in the body.
                found = json.loads(failure.response.text())["odata.error"]["code"]
            assert found == code, f"{found}, not {code}"
            assert isinstance(failure, errors.get(code, HttpResponseError)), type(failure).__name__
            return failure
        raise AssertionError(f"not refused with {code}")

    return refused


def run_tests(names):
    """Runs every function whose name begins with test_, in order."""
    for name, test in [item for item in names.items() if item[0].startswith("test_")]:
        failure = None
        try:
            test()
        except Exception:  # Any error is the result of the test.
            failure = traceback.format_exc()
        print(json.dumps({"name": name[5:].replace("_", " "), "failure": failure}), flush=True)
