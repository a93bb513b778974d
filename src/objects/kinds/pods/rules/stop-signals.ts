/** The valid stop signals of a container. */
import { forbiddenField, unsupportedValue } from "../../../../meta/field-errors.ts";
import { stringAt, type JsonObject } from "../../../../meta/json.ts";
import type { FieldError } from "../../../../meta/status-error.ts";

const NAMED: readonly string[] =
  "SIGABRT SIGALRM SIGBUS SIGCHLD SIGCLD SIGCONT SIGFPE SIGHUP SIGILL SIGINT SIGIO SIGIOT SIGKILL SIGPIPE SIGPOLL SIGPROF SIGPWR SIGQUIT SIGSEGV SIGSTKFLT SIGSTOP SIGSYS SIGTERM SIGTRAP SIGTSTP SIGTTIN SIGTTOU SIGURG SIGUSR1 SIGUSR2 SIGVTALRM SIGWINCH SIGXCPU SIGXFSZ SIGRTMIN SIGRTMAX".split(
    " ",
  );
const NUMBERED: readonly string[] = [
  ...Array.from({ length: 15 }, (_, index) => `SIGRTMIN+${index + 1}`),
  ...Array.from({ length: 14 }, (_, index) => `SIGRTMAX-${index + 1}`),
];
const LINUX: readonly string[] = [...NAMED, ...NUMBERED].sort();
const WINDOWS: readonly string[] = ["SIGKILL", "SIGTERM"];

export function* stopSignalErrors(signal: string, field: string, os: JsonObject | undefined): Generator<FieldError> {
  const name = os === undefined ? "" : stringAt(os, "name");
  if (os === undefined) yield forbiddenField(field, "may not be set for containers with empty `spec.os.name`");
  else if (name === "windows" && !WINDOWS.includes(signal)) yield unsupportedValue(field, signal, WINDOWS);
  else if (name === "linux" && !LINUX.includes(signal)) yield unsupportedValue(field, signal, LINUX);
}
