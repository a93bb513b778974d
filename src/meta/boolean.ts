/** How Go's strconv.ParseBool reads; undefined for anything else. */
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
