/**
 * Makes text from servers and files safe to print: control characters could otherwise change what a terminal shows, and
 * characters that change the direction of text could make it look like another text.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Zl}\p{Zp}\p{Bidi_Control}]/gu, "\u{fffd}");
}
