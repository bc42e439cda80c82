// The tools of this session as functions. Each gives a promise of what the
// tool answers; one that fails is rejected with a ToolError. Arguments are
// given by name in one object, or one after the other.

class ToolError extends Error {
  constructor(tool, details) {
    const hint = details.hint ? ' ' + details.hint : '';
    const kind = details.kind || 'internal';
    super(`${tool}: ${details.error || 'no reason was given'} (${kind})${hint}`);
    this.name = 'ToolError';
    this.tool = tool;
    this.kind = kind;
    this.hint = details.hint;
    this.details = details;
  }
}

const waiting = new Map();
let line = null;
let number = 0;

function lose() {
  line = null;
  const lost = { error: 'hermes does not answer this script any more', kind: 'unavailable',
    hint: 'The run is over, or its connection was closed.' };
  for (const [id, call] of waiting) {
    waiting.delete(id);
    call.reject(new ToolError(call.tool, lost));
  }
}

function connect() {
  const made = require('net').connect(process.env.HERMES_RPC_SOCKET || '');
  made.on('data', frames(4, (body) => answer(JSON.parse(body.toString('utf8')))));
  const gone = () => { if (line === made) lose(); };
  made.on('error', gone);
  made.on('close', gone);
  return made;
}

function answer(said) {
  const call = waiting.get(said.id);
  if (!call) return lose();
  waiting.delete(said.id);
  // Nothing keeps a script going that waits for nothing.
  if (waiting.size === 0 && line) line.unref();
  if (said.ok) call.resolve(said.result);
  else call.reject(new ToolError(call.tool, said.error || {}));
}

function text(name, value) {
  if (typeof value === 'string' && /\p{Cs}/u.test(value)) {
    throw new TypeError(`${name} is no text: it has half of a character`);
  }
  return value;
}

function call(tool, args) {
  return new Promise((resolve, reject) => {
    const id = ++number;
    const request = { id, token: process.env.HERMES_RPC_TOKEN || '', tool, args };
    const body = Buffer.from(JSON.stringify(request, text));
    line = line || connect();
    line.ref();
    waiting.set(id, { tool, resolve, reject });
    line.write(framed(body));
  });
}

function tool(name, parameters) {
  return async (...words) => {
    const [first] = words;
    const named = words.length === 1 && first !== null && typeof first === 'object' &&
      !Array.isArray(first);
    const args = named ? first : {};
    if (!named) words.forEach((word, at) => {
      if (at >= parameters.length) throw new TypeError(`${name} takes ${parameters.length} arguments`);
      if (word !== undefined && word !== null) args[parameters[at]] = word;
    });
    return call(name, args);
  };
}

/** JSON text as values; control characters within its strings are allowed. */
exports.json_parse = (text) => {
  if (typeof text !== 'string') return text;
  try {
    return JSON.parse(text);
  } catch (error) {
    const escape = (c) => '\\u' + c.charCodeAt(0).toString(16).padStart(4, '0');
    const strings = /"(?:[^"\\]|\\[^])*"/g;
    return JSON.parse(text.replace(strings, (word) => word.replace(/[\u0000-\u001f]/g, escape)));
  }
};

/** The word that a shell reads as this text. */
exports.shell_quote = (text) => {
  const word = String(text);
  return /^[A-Za-z0-9_@%+=:,./-]+$/.test(word) ? word : `'${word.replace(/'/g, `'"'"'`)}'`;
};

/** Calls fn until it succeeds, after 2, 4, 8 ... seconds. */
exports.retry = async (fn, max_attempts = 3, delay = 2) => {
  for (let attempt = 1; ; attempt++) {
    try {
      return await fn();
    } catch (error) {
      if (attempt >= max_attempts) throw error;
    }
    await new Promise((done) => setTimeout(done, delay * 1000 * 2 ** (attempt - 1)));
  }
};

exports.ToolError = ToolError;
