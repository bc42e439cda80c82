# unittest as it is, with a line of JSON for each test that is begun or ended.
import json, sys, time, unittest

report = open(sys.argv[1], "w", encoding="utf-8", errors="backslashreplace")
sys.path.insert(0, "")


def tell(**line):
    report.write(json.dumps(line) + "\n")
    report.flush()


class Result(unittest.TextTestResult):
    began = None

    def startTest(self, test):
        self.began = time.monotonic()
        tell(begin=test.id())
        super().startTest(test)

    def end(self, outcome, test, error=None, why="", part=""):
        took = time.monotonic() - self.began if self.began is not None else None
        text = self._exc_info_to_string(error, test) if error else ""
        if error:
            why = "".join(line(error)).strip()
        tell(end=test.id(), outcome=outcome, part=part, why=why, trace=text, seconds=took)

    def addSuccess(self, test):
        super().addSuccess(test)
        self.end("passed", test)

    def addError(self, test, err):
        super().addError(test, err)
        self.end("error", test, err)

    def addFailure(self, test, err):
        super().addFailure(test, err)
        self.end("failed", test, err)

    def addSkip(self, test, reason):
        super().addSkip(test, reason)
        self.end("skipped", test, why=str(reason))

    def addExpectedFailure(self, test, err):
        super().addExpectedFailure(test, err)
        self.end("passed", test)

    def addUnexpectedSuccess(self, test):
        super().addUnexpectedSuccess(test)
        self.end("failed", test, why="it passed, although it is expected to fail")

    def addSubTest(self, test, subtest, err):
        super().addSubTest(test, subtest, err)
        if err is not None:
            kind = "failed" if issubclass(err[0], test.failureException) else "error"
            self.end(kind, test, err, part=subtest._subDescription())


def line(error):
    import traceback

    return traceback.format_exception_only(error[0], error[1])


class Runner(unittest.TextTestRunner):
    resultclass = Result

    def run(self, test):
        began = time.monotonic()
        result = super().run(test)
        tell(ran=result.testsRun, seconds=time.monotonic() - began)
        return result


sys.argv = ["python -m unittest"] + sys.argv[2:]
unittest.main(module=None, testRunner=Runner)
