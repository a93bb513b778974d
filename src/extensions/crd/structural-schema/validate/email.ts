/** Validates the format "email": one RFC 5322 address, with or without a display name, as Go parses it. */
import { parseAddress } from "../../../../meta/ip-address.ts";

const LENGTH_MAX = 64 * 1024;

/** DIFFERS: an address of more than 64 KB is rejected. */
export function isEmail(text: string): boolean {
  if (text.length > LENGTH_MAX) return false;
  const parser = new AddressParser(text);
  return parser.address(true) === 1 && parser.skipComments() && parser.isAtEnd;
}

const ATOM = /[!#-'*+\-./0-9=?A-Z^_`a-z{|}~$%&\u0080-\uffff]+/y;
const QUOTED = /"(?:[!#-[\]-~\u0080-\uffff \t]|\\[!-~\u0080-\uffff \t])*"/y;
const LITERAL = /\[([!-Z^-~\u0080-\uffff]*)\]/y;

class AddressParser {
  readonly #text: string;
  #at = 0;

  constructor(text: string) {
    this.#text = text;
  }

  get isAtEnd(): boolean {
    return this.#at >= this.#text.length;
  }

  /** Returns the number of addresses parsed; undefined if the text at the current position is not an address. */
  address(allowsGroup: boolean): number | undefined {
    this.#skipSpace();
    if (this.#addressSpec()) {
      this.#skipSpace();
      return this.#text[this.#at] === "(" && !this.skipComments() ? undefined : 1;
    }
    if (this.#text[this.#at] !== "<" && !this.#phrase()) return undefined;
    this.#skipSpace();
    if (allowsGroup && this.#take(":")) return this.#group();
    return this.#take("<") && this.#addressSpec() && this.#take(">") ? 1 : undefined;
  }

  skipComments(): boolean {
    this.#skipSpace();
    while (this.#take("(")) {
      if (!this.#comment()) return false;
      this.#skipSpace();
    }
    return true;
  }

  #group(): number | undefined {
    this.#skipSpace();
    if (this.#take(";")) return 0;
    for (let count = 1; ; count++) {
      if (this.address(false) === undefined || !this.skipComments()) return undefined;
      if (this.#take(";")) return this.skipComments() ? count : undefined;
      if (!this.#take(",")) return undefined;
    }
  }

  /** Parses an address without a display name. If there is none, it resets the position to the start. */
  #addressSpec(): boolean {
    const start = this.#at;
    this.#skipSpace();
    if (this.#localPart() && this.#take("@") && this.#domain()) return true;
    this.#at = start;
    return false;
  }

  #localPart(): boolean {
    const quoted = this.#match(QUOTED);
    if (quoted !== undefined) return quoted[0] !== '""';
    return this.#dotAtom();
  }

  #domain(): boolean {
    this.#skipSpace();
    const literal = this.#match(LITERAL);
    return literal === undefined ? this.#dotAtom() : parseAddress(literal[1] ?? "") !== undefined;
  }

  #dotAtom(): boolean {
    const atom = this.#match(ATOM)?.[0];
    return atom !== undefined && !atom.startsWith(".") && !atom.endsWith(".") && !atom.includes("..");
  }

  /** Parses a display name: words with comments between them. */
  #phrase(): boolean {
    let words = 0;
    for (;;) {
      if (words > 0 && !this.skipComments()) return false;
      this.#skipSpace();
      if (this.#match(QUOTED) === undefined && this.#match(ATOM) === undefined) break;
      words++;
    }
    return words > 0;
  }

  #comment(): boolean {
    for (let depth = 1; this.#at < this.#text.length; this.#at++) {
      const character = this.#text[this.#at];
      if (character === "\\" && this.#at + 1 < this.#text.length) this.#at++;
      else if (character === "(") depth++;
      else if (character === ")" && --depth === 0) {
        this.#at++;
        return true;
      }
    }
    return false;
  }

  #skipSpace(): void {
    while (this.#text[this.#at] === " " || this.#text[this.#at] === "\t") this.#at++;
  }

  #take(character: string): boolean {
    if (this.#text[this.#at] !== character) return false;
    this.#at++;
    return true;
  }

  #match(pattern: RegExp): RegExpExecArray | undefined {
    const sticky = new RegExp(pattern, "y");
    sticky.lastIndex = this.#at;
    const match = sticky.exec(this.#text) ?? undefined;
    if (match !== undefined) this.#at += match[0].length;
    return match;
  }
}
