// Tells of each test as it is begun and ended, a line of JSON each.
const text = (value) => (typeof value === 'string' ? value : undefined);

function told(error) {
  if (!error) return undefined;
  const cause = error.cause;
  const is_error = cause !== null && typeof cause === 'object';
  return {
    kind: text(error.failureType),
    message: text(error.message),
    stack: is_error ? text(cause.stack) : undefined,
    code: error.exitCode,
    signal: text(error.signal),
  };
}

export default async function* report(source) {
  for await (const { type, data } of source) {
    const what = type.replace('test:', '');
    if (what === 'stderr') {
      yield JSON.stringify({ what, file: data.file, message: data.message }) + '\n';
    } else if (['start', 'pass', 'fail'].includes(what)) {
      const { name, nesting, file, line, skip, todo, details } = data;
      const ended = { ms: details?.duration_ms, suite: details?.type === 'suite' };
      yield JSON.stringify({ what, name, nesting, file, line, skip, todo, ...ended, error: told(details?.error) }) + '\n';
    }
  }
}
