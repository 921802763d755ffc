# lengths.awk: prints every function and every file that is too long to be read in one go.
#   awk -v max_function=50 -v max_file=250 -f lengths.awk FILE...
# Lines that hold only a comment do not count. The sources are formatted by clang-format, which
# this relies on: a string does not hold a brace that is not also closed, raw strings apart.

function finish() {
  if (file != "" && lines > max_file) print file ": " lines " lines, at most " max_file
}

FNR == 1 {
  finish()
  file = FILENAME; lines = 0; depth = 0; statement = ""; function_depth = 0; in_raw = 0
}

{
  line = $0
  if (in_raw) {  # inside R"( ... )"
    lines++
    if (line !~ /\)"/) next
    in_raw = 0
    sub(/^.*\)"/, "", line)
  } else {
    if (line ~ /^[ ]*\/\//) next
    lines++
  }
  if (line ~ /R"\(/) {
    if (line !~ /\)"/) in_raw = 1
    sub(/R"\(.*/, "", line)
  }
  gsub(/\\\\/, "", line); gsub(/\\["']/, "", line); gsub(/"[^"]*"/, "", line); gsub(/'[^']'/, "", line)
  sub(/\/\/.*/, "", line)
  if (line ~ /^#/) next
  for (i = 1; i <= length(line); i++) {
    c = substr(line, i, 1)
    if (c == "{") {
      depth++
      sub(/^[ ]+/, "", statement)
      if (function_depth == 0 && is_function(statement)) {
        function_depth = depth; start = lines - extra; name = statement
      }
      statement = ""; extra = 0
    } else if (c == "}") {
      if (depth == function_depth) {
        if (lines - start + 1 > max_function) {
          sub(/\(.*/, "", name)
          print file ": " name "(): " lines - start + 1 " lines, at most " max_function
        }
        function_depth = 0
      }
      depth--
      statement = ""; extra = 0
    } else if (c == ";") {
      statement = ""; extra = 0
    } else {
      statement = statement c
    }
  }
  if (statement ~ /[^ ]/) { extra++; statement = statement " " }
}

function is_function(text) {
  return text ~ /\(/ && text !~ /^(namespace|class|struct|union|enum|if|for|while|switch|do|else|try|catch|return)/ && text !~ /=[ ]*$/
}

END { finish() }
