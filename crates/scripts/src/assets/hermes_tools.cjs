// The tools of this session as functions. Each returns a promise of the tool's
// result. The result of a call that fails has `error`, `kind` and `hint`; its
// `ok` is false, and raise_for_error() throws it. Arguments are passed by name
// in one object, or by position.

class ToolError extends Error {
  constructor(tool, details) {
    const hint = details.hint ? ' ' + details.hint : '';
    const kind = details.kind || 'internal';
    super(`${tool}: ${details.error || 'the error has no message'} (${kind})${hint}`);
    this.name = 'ToolError';
    this.tool = tool;
    this.kind = kind;
    this.hint = details.hint;
    this.details = details;
  }
}

/** Adds `ok` and `raise_for_error()`, which are not listed with the fields. */
function markResult(tool, result, ok) {
  if (result === null || typeof result !== 'object') return result;
  const raise_for_error = () => {
    if (!ok) throw new ToolError(tool, result);
    return result;
  };
  for (const [name, value] of Object.entries({ ok, raise_for_error })) {
    if (!(name in result)) Object.defineProperty(result, name, { value });
  }
  return result;
}

const pending = new Map();
let connection = null;
let lastId = 0;

function disconnect() {
  connection = null;
  const details = { error: 'the connection to hermes is closed', kind: 'unavailable',
    hint: 'The script run has ended, or the connection was lost.' };
  for (const [id, call] of pending) {
    pending.delete(id);
    call.resolve(markResult(call.tool, { ...details }, false));
  }
}

function connect() {
  const socket = require('net').connect(process.env.HERMES_RPC_SOCKET || '');
  socket.on('data', frameDecoder(4, (body) => settle(JSON.parse(body.toString('utf8')))));
  const onClose = () => { if (connection === socket) disconnect(); };
  socket.on('error', onClose);
  socket.on('close', onClose);
  return socket;
}

function settle(response) {
  const call = pending.get(response.id);
  if (!call) return disconnect();
  pending.delete(response.id);
  // Without pending calls, the connection must not keep the script alive.
  if (pending.size === 0 && connection) connection.unref();
  const failure = { error: 'the error has no message', ...response.error };
  call.resolve(markResult(call.tool, response.ok ? response.result : failure, !!response.ok));
}

function checkText(name, value) {
  if (typeof value === 'string' && /\p{Cs}/u.test(value)) {
    throw new TypeError(`${name} is not valid text: it contains a lone surrogate`);
  }
  return value;
}

function call(tool, args) {
  return new Promise((resolve, reject) => {
    const id = ++lastId;
    const request = { id, token: process.env.HERMES_RPC_TOKEN || '', tool, args };
    const body = Buffer.from(JSON.stringify(request, checkText));
    connection = connection || connect();
    connection.ref();
    pending.set(id, { tool, resolve, reject });
    connection.write(encodeFrame(body));
  });
}

function tool(name, parameters) {
  return async (...values) => {
    const [first] = values;
    const named = values.length === 1 && first !== null && typeof first === 'object' &&
      !Array.isArray(first);
    const args = named ? first : {};
    if (!named) values.forEach((value, index) => {
      if (index >= parameters.length) throw new TypeError(`${name} takes at most ${parameters.length} arguments, not ${values.length}`);
      if (value !== undefined && value !== null) args[parameters[index]] = value;
    });
    return call(name, args);
  };
}

/** Parses JSON; control characters in strings are allowed. */
exports.json_parse = (text) => {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    const escape = (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0');
    const strings = /"(?:[^"\\]|\\[^])*"/g;
    return JSON.parse(text.replace(strings, (string) => string.replace(/[\u0000-\u001f]/g, escape)));
  }
};

/** Quotes a text as one shell word. */
exports.shell_quote = (text) => {
  const word = String(text);
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`;
};

/**
 * Calls fn until it succeeds; waits 2, 4, 8 ... seconds between attempts. A thrown error and the
 * result of a failed call are failures.
 */
exports.retry = async (fn, max_attempts = 3, delay = 2) => {
  for (let attempt = 1; ; attempt++) {
    try {
      const result = await fn();
      const failed = result && result.ok === false && typeof result.raise_for_error === 'function';
      if (!failed || attempt >= max_attempts) return result;
    } catch (error) {
      if (attempt >= max_attempts) throw error;
    }
    await new Promise((resolve) => setTimeout(resolve, delay * 1000 * 2 ** (attempt - 1)));
  }
};

exports.ToolError = ToolError;
