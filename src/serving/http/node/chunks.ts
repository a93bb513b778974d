/** Groups the chunks of a body for writing to a socket, with few system calls and without copying the whole body. */

/** Up to this size, copying the chunks into one buffer is cheaper than a vectored write. */
export const SMALL_BODY_BYTES = 64 * 1024;

/** Maximum number of buffers in one vectored write. More gain nothing; IOV_MAX is 1024. */
const GROUP_BUFFERS_MAX = 512;

/** Maximum size of a group. TLS copies and encrypts a group as a whole, so one slow reader holds this much memory. */
const GROUP_BYTES_MAX = 1024 * 1024;

export function totalBytes(chunks: readonly Buffer[]): number {
  let total = 0;
  for (const chunk of chunks) total += chunk.length;
  return total;
}

export function joined(chunks: readonly Buffer[]): Buffer {
  const [first] = chunks;
  return chunks.length === 1 && first !== undefined ? first : Buffer.concat(chunks);
}

/** Groups chunks for vectored writes. Copies nothing and slices chunks that are too large. */
export function* writeGroups(chunks: readonly Buffer[]): Generator<readonly Buffer[]> {
  let group: Buffer[] = [];
  let bytes = 0;
  for (const slice of slices(chunks, GROUP_BYTES_MAX)) {
    if (group.length === GROUP_BUFFERS_MAX || (group.length > 0 && bytes + slice.length > GROUP_BYTES_MAX)) {
      yield group;
      group = [];
      bytes = 0;
    }
    group.push(slice);
    bytes += slice.length;
  }
  if (group.length > 0) yield group;
}

/** Groups chunks for writes whose cost does not depend on their size. Joins small chunks and slices large ones. */
export function* joinedGroups(chunks: readonly Buffer[], bytesMax: number): Generator<Buffer> {
  let group: Buffer[] = [];
  let bytes = 0;
  for (const slice of slices(chunks, bytesMax)) {
    if (group.length > 0 && bytes + slice.length > bytesMax) {
      yield joined(group);
      group = [];
      bytes = 0;
    }
    group.push(slice);
    bytes += slice.length;
  }
  if (group.length > 0) yield joined(group);
}

function* slices(chunks: readonly Buffer[], bytesMax: number): Generator<Buffer> {
  for (const chunk of chunks) {
    if (chunk.length <= bytesMax) {
      if (chunk.length > 0) yield chunk;
      continue;
    }
    for (let start = 0; start < chunk.length; start += bytesMax) {
      yield chunk.subarray(start, start + bytesMax);
    }
  }
}
