// Prints one line of JSON when a test starts and when it ends.
const textOnly = (value) => (typeof value === 'string' ? value : undefined);

function errorReport(error) {
  if (!error) return undefined;
  const cause = error.cause;
  const isError = cause !== null && typeof cause === 'object';
  return {
    kind: textOnly(error.failureType),
    message: textOnly(error.message),
    stack: isError ? textOnly(cause.stack) : undefined,
    code: error.exitCode,
    signal: textOnly(error.signal),
  };
}

export default async function* report(source) {
  for await (const { type, data } of source) {
    const event = type.replace('test:', '');
    if (event === 'stderr') {
      yield JSON.stringify({ what: event, file: data.file, message: data.message }) + '\n';
    } else if (['start', 'pass', 'fail'].includes(event)) {
      const { name, nesting, file, line, skip, todo, details } = data;
      const outcome = { ms: details?.duration_ms, suite: details?.type === 'suite' };
      yield JSON.stringify({ what: event, name, nesting, file, line, skip, todo, ...outcome, error: errorReport(details?.error) }) + '\n';
    }
  }
}
