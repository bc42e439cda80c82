// Decodes a stream of frames. Each frame has a header of `headerSize` bytes, the
// last four of which are the length of the body. Calls `onFrame` with the body
// and the first number of the header; for a body above `maxSize` with null, and
// then stops.
const frameDecoder = (headerSize, onFrame, maxSize = Infinity) => {
  let chunks = [], available = 0, header = null;
  const take = (size) => {
    const all = chunks.length === 1 ? chunks[0] : Buffer.concat(chunks);
    chunks = [all.subarray(size)];
    available -= size;
    return all.subarray(0, size);
  };
  return (data) => {
    chunks.push(data);
    available += data.length;
    for (;;) {
      if (header === null) {
        if (available < headerSize) return;
        const bytes = take(headerSize);
        header = [bytes.readUInt32BE(0), bytes.readUInt32BE(headerSize - 4)];
        if (header[1] > maxSize) return onFrame(null, header[0]);
      }
      if (available < header[1]) return;
      const [number, size] = header;
      header = null;
      onFrame(take(size), number);
    }
  };
};
// Encodes a body with a header: the numbers, then the length of the body.
const encodeFrame = (body, ...numbers) => {
  const header = Buffer.alloc(4 * numbers.length + 4);
  [...numbers, body.length].forEach((number, index) => header.writeUInt32BE(number, 4 * index));
  return Buffer.concat([header, body]);
};
