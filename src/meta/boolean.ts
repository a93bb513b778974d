/** Parses a boolean as Go's strconv.ParseBool does; undefined for any other text. */
export function parseBoolean(text: string): boolean | undefined {
  switch (text) {
    case "1":
    case "t":
    case "T":
    case "true":
    case "TRUE":
    case "True":
      return true;
    case "0":
    case "f":
    case "F":
    case "false":
    case "FALSE":
    case "False":
      return false;
    default:
      return undefined;
  }
}
