// Messages out of a stream: each begins with `head` bytes, the last four of
// which say how long it is. `each` gets the first number and the message, and
// ends it all by an answer of false.
const frames = (head, each) => {
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
        if (want[1] > 67108864 && each(want[0], null) === false) return;
      }
      if (have < want[1]) return;
      const [number, size] = want;
      want = null;
      if (each(number, take(size)) === false) return;
    }
  };
};
// A message with its length before it, and numbers before that.
const framed = (body, ...numbers) => {
  const head = Buffer.alloc(4 * numbers.length + 4);
  [...numbers, body.length].forEach((number, at) => head.writeUInt32BE(number, 4 * at));
  return Buffer.concat([head, body]);
};
