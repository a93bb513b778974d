/** Writes docs/flags.md, which lists every flag of kube-apiserver and of `evenkeel serve`, from the code. */
import { Help, type Command, type Option } from "commander";
import { ARGUMENT_LISTS } from "../smoke/argument-lists.ts";
import type { FlagSection, Handling, KubeFlag } from "../../src/tools/cli/kube-flags/flag-handling.ts";

const HELP = new Help();

const INTRODUCTION = `# Flags of \`evenkeel serve\`

<!-- \`npm run golden\` writes this page. Change src/tools/cli/kube-flags/flag-table.ts instead. -->

This page helps you move the arguments of a kube-apiserver to \`evenkeel serve\`. It lists every flag of kube-apiserver 1.33 to 1.37, the
deprecated ones included, and then the flags that only Evenkeel has. Each flag of kube-apiserver is

- **implemented**: it has the meaning of kube-apiserver, except for the differences that the table names;
- **ignored**: the server starts, and logs one warning for each reason, which says what it does not do. The server is never less secure
  than the flag demands;
- **rejected**: the server does not start. The message names every rejected flag, its value and the reason.

Arguments that the command does not accept (unknown flags, invalid values) are reported all at once, before anything else. The message
suggests a flag for a misspelled one, and names the release that removed a flag of an older kube-apiserver, such as \`--cloud-provider\`.

The column "accepted silently" lists values for which the server behaves as the flag demands.

\`evenkeel serve\` parses its arguments as kube-apiserver does:

- \`--flag value\` and \`--flag=value\` are the same, and underscores in names are dashes. \`-v 4\` is \`--v=4\`.
- A boolean flag is \`--flag\`, or \`--flag=\` followed by one of \`true\`, \`false\`, \`1\`, \`0\`, \`t\`, \`f\`. Its value is never a separate word.
- If a flag is repeated, its last value is used; lists are joined. A comma separates the items of a list.
`;

export function flagsPage(command: Command, sections: readonly FlagSection[]): string {
  const options = new Map(command.options.map((option) => [option.long?.replace(/^--/, "") ?? "", option]));
  const kubeNames = new Set(sections.flatMap(({ flags }) => Object.keys(flags)));
  const own = [...options].filter(([name]) => !kubeNames.has(name)).map(([, option]) => option);
  return [
    INTRODUCTION,
    ...sections.map(
      ({ title, flags }) =>
        `## ${title}\n\n${table(
          ["flag", "handling", "meaning or reason", "accepted silently", "since"],
          Object.entries(flags).map(([name, flag]) => flagRow(name, flag, options.get(name))),
        )}`,
    ),
    `## Flags that only Evenkeel has\n\n${table(
      ["flag", "meaning"],
      own.map((option) => [code(HELP.optionTerm(option).split(" ")[0]!), meaningOf(option)]),
    )}`,
    argumentLists(),
  ].join("\n");
}

function argumentLists(): string {
  const rows = ARGUMENT_LISTS.map(({ name, source, withoutEffect }) => [
    name,
    source,
    withoutEffect.map((flag) => code(`--${flag}`)).join(", "),
  ]);
  return `## Argument lists of other programs

\`test/smoke/argument-lists.test.ts\` starts a server with each of these argument lists, apart from paths and addresses. None of them
contains a flag that the server rejects.

${table(["program", "arguments", "flags without effect"], rows)}
Some programs add flags that the server rejects:

- k3s with its default datastore passes \`--etcd-servers=unix://…\`, the socket of kine, which is not etcd. Use the embedded store, that is,
  no \`--etcd-servers\`, or etcd.
- Talos passes \`--authentication-config\` and \`--authorization-config\`.
- Suites for envtest that test webhook authentication pass \`--authentication-token-webhook-config-file\`.
`;
}

function flagRow(name: string, { handling, since }: KubeFlag, option: Option | undefined): string[] {
  const fine = handling.kind === "implemented" ? [] : handling.fine;
  return [
    code(name === "v" ? "-v, --v" : `--${name}`),
    handling.kind,
    reasonOf(handling, option),
    fine.map((value) => (value === "" ? "empty" : code(value))).join(", "),
    since ?? "",
  ];
}

function reasonOf(handling: Handling, option: Option | undefined): string {
  if (handling.kind !== "implemented") return text(handling.because);
  const meaning = option === undefined ? "" : meaningOf(option);
  if (handling.note === undefined) return meaning;
  return `${meaning}. ${text(handling.note)}`;
}

function meaningOf(option: Option): string {
  return text(HELP.optionDescription(option));
}

/** Keeps a table cell from ending early, and HTML and emphasis from starting. */
function text(plain: string): string {
  return plain.replaceAll(/[|*<]/g, "\\$&");
}

function code(plain: string): string {
  return `\`${plain}\``;
}

/** A table with columns of equal width, as the formatter of the repository writes it. */
function table(head: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = head.map((title, at) =>
    Math.max(3, ...[title, ...rows.map((row) => row[at]!)].map(({ length }) => length)),
  );
  const line = (cells: readonly string[]): string =>
    `| ${cells.map((cell, at) => cell.padEnd(widths[at]!)).join(" | ")} |\n`;
  return [line(head), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("");
}
