/** Makes text from servers and files safe to print: control characters could otherwise change what a terminal shows. */
export function printable(text: string): string {
  return text.replace(/\p{Cc}/gu, "\u{fffd}");
}
