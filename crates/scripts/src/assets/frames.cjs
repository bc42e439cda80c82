// Messages out of a stream: each begins with `head` bytes, the last four of
// which say how long it is. `each` gets the message and the first number; for
// one that is too long it gets nothing, and that is the end.
const frames = (head, each, most = Infinity) => {
  let parts = [], have = 0, want = null;
  const take = (size) => {
    const all = parts.length === 1 ? parts[0] : Buffer.concat(parts);
    parts = [all.subarray(size)];
    have -= size;
    return all.subarray(0, size);
  };
  return (data) => {
    parts.push(data);
    have += data.length;
    for (;;) {
      if (want === null) {
        if (have < head) return;
        const first = take(head);
        want = [first.readUInt32BE(0), first.readUInt32BE(head - 4)];
        if (want[1] > most) return each(null, want[0]);
      }
      if (have < want[1]) return;
      const [number, size] = want;
      want = null;
      each(take(size), number);
    }
  };
};
// A message with its length before it, and numbers before that.
const framed = (body, ...numbers) => {
  const head = Buffer.alloc(4 * numbers.length + 4);
  [...numbers, body.length].forEach((number, at) => head.writeUInt32BE(number, 4 * at));
  return Buffer.concat([head, body]);
};
