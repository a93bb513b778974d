/** The log of the server, for its operator. Callers must not log secrets: no tokens, bodies or object contents. */
export interface Log {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  warn(message: string, fields?: LogFields): void;
  error(message: string, fields?: LogFields): void;
}

export type LogFields = Readonly<Record<string, unknown>>;

export const SILENT_LOG: Log = { debug: ignore, info: ignore, warn: ignore, error: ignore };

function ignore(): void {}
