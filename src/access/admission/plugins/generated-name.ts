/**
 * Generates names from a base and five random characters. As in kubernetes, the characters include no vowels, so that
 * they form no words.
 */
import { randomInteger, type Random } from "../../../base/random.ts";

const LETTERS = "bcdfghjklmnpqrstvwxz2456789";
const SUFFIX_LENGTH = 5;

export function generatedName(base: string, random: Random): string {
  let suffix = "";
  for (let count = 0; count < SUFFIX_LENGTH; count++) suffix += LETTERS.charAt(randomInteger(random, LETTERS.length));
  return base + suffix;
}
