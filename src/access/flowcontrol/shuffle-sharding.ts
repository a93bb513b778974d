/**
 * Shuffle sharding: assigns to each flow a hand, that is, a few of many queues, so that two flows are unlikely to have
 * the same hand.
 */
import { createHash } from "node:crypto";

interface Deck {
  readonly queues: number;
  readonly handSize: number;
}

const QUEUES_MAX = 2 ** 26;
const HASH_BITS_MAX = 60;

/** Whether a 64-bit hash has enough bits to select a hand of this size. */
export function isDealable({ queues, handSize }: Deck): boolean {
  if (queues < 1 || handSize < 1 || handSize > queues || queues > QUEUES_MAX) return false;
  return Math.ceil(Math.log2(queues) * handSize) <= HASH_BITS_MAX;
}

/** The hand of a flow: distinct queues that depend only on the hash of the flow. */
export function deal(flow: bigint, { queues, handSize }: Deck): readonly number[] {
  const remainders: number[] = [];
  let rest = flow;
  for (let dealt = 0; dealt < handSize; dealt++) {
    const left = BigInt(queues - dealt);
    remainders.push(Number(rest % left));
    rest /= left;
  }
  return remainders.map((remainder, index) => {
    let queue = remainder;
    for (let before = index - 1; before >= 0; before--) if (queue >= remainders[before]!) queue++;
    return queue;
  });
}

export function hashOfFlow(flowSchema: string, distinguisher: string): bigint {
  return createHash("sha256").update(`${flowSchema}\u0000${distinguisher}`).digest().readBigUInt64LE(0);
}
