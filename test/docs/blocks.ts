/** Finds the shell blocks of a document, each with its expected output, so that tests can run them. */
export interface RunnableBlock {
  /** Line of the fence, counted from one. */
  readonly line: number;
  readonly script: string;
  /** Lines of the `text` block that follows; `…` matches any text, and a run of blanks matches any number of blanks. */
  readonly prints: readonly string[];
}

export function runnableBlocks(document: string): RunnableBlock[] {
  const blocks = [...document.matchAll(/^```(\w+)\n([\s\S]*?)^```$/gm)].map(({ index, 1: language, 2: content }) => ({
    line: document.slice(0, index).split("\n").length,
    language,
    content: content!,
  }));
  return blocks.flatMap(({ line, language, content }, at) => {
    if (language !== "sh") return [];
    const next = blocks[at + 1];
    const prints = next?.language === "text" ? next.content.split("\n").filter((text) => text.trim() !== "") : [];
    return [{ line, script: content, prints }];
  });
}

/** The first expected line that the output does not contain; undefined if it contains all of them. */
export function missingLine(prints: readonly string[], output: string): string | undefined {
  const lines = output.split(/\r?\n/);
  return prints.find((expected) => {
    const pattern = linePattern(expected);
    return !lines.some((line) => pattern.test(line.trim()));
  });
}

/** A pattern for a printed line: `…` matches any text, and a run of blanks matches any number of blanks. */
export function linePattern(expected: string): RegExp {
  return new RegExp(`^${expected.trim().split(/\s+/).map(wildcard).join("\\s+")}$`);
}

function wildcard(word: string): string {
  return word
    .split("…")
    .map((text) => text.replace(/[.*+?^${}()|[\]\\]/g, "\\$&"))
    .join(".*");
}
