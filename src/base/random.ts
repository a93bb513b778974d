/**
 * The source of randomness for all code that the simulator runs: a seeded generator in the simulator, the generator of
 * the system in production.
 */
export interface Random {
  /** A float in [0, 1). */
  float(): number;
  /** `length` unpredictable bytes (in the simulator: predictable from the seed). */
  bytes(length: number): Uint8Array;
  /** A version 4 UUID. Absent if the platform has no function that is faster than formatting bytes. */
  uuid?(): string;
}

/** An integer in [0, bound). */
export function randomInteger(random: Random, bound: number): number {
  return Math.floor(random.float() * bound);
}

/** A random item of a non-empty array. */
export function randomItem<T>(random: Random, items: readonly T[]): T {
  return items[randomInteger(random, items.length)] as T;
}

const HEX = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, "0"));

/** A version 4 UUID. */
export function randomUuid(random: Random): string {
  if (random.uuid !== undefined) return random.uuid();
  const bytes = random.bytes(16);
  bytes[6] = (bytes[6]! & 0x0f) | 0x40;
  bytes[8] = (bytes[8]! & 0x3f) | 0x80;
  let text = "";
  for (let index = 0; index < 16; index++) {
    if (index === 4 || index === 6 || index === 8 || index === 10) text += "-";
    text += HEX[bytes[index]!]!;
  }
  return text;
}
