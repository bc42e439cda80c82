# Runs unittest and writes one line of JSON when a test starts and when it ends.
import json, sys, time, unittest

report = open(sys.argv[1], "w", encoding="utf-8", errors="backslashreplace")
sys.path.insert(0, "")


def write_event(**fields):
    report.write(json.dumps(fields) + "\n")
    report.flush()


class Result(unittest.TextTestResult):
    started = None

    def startTest(self, test):
        self.started = time.monotonic()
        write_event(begin=test.id())
        super().startTest(test)

    def report_end(self, outcome, test, error=None, why="", part=""):
        seconds = time.monotonic() - self.started if self.started is not None else None
        trace = self._exc_info_to_string(error, test) if error else ""
        if error:
            why = "".join(error_lines(error)).strip()
        write_event(end=test.id(), outcome=outcome, part=part, why=why, trace=trace, seconds=seconds)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.report_end("passed", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.report_end("error", test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.report_end("failed", test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.report_end("skipped", test, why=str(reason))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.report_end("passed", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.report_end("failed", test, why="the test passed, but is expected to fail")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            kind = "failed" if issubclass(err[0], test.failureException) else "error"
            self.report_end(kind, test, err, part=subtest._subDescription())


def error_lines(error):
    import traceback

    return traceback.format_exception_only(error[0], error[1])


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, test):
        started = time.monotonic()
        result = super().run(test)
        write_event(ran=result.testsRun, seconds=time.monotonic() - started)
        return result


sys.argv = ["python -m unittest"] + sys.argv[2:]
unittest.main(module=None, testRunner=Runner)
