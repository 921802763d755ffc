# Turns the examples in a public header into a source file: awk -f header_examples.awk HEADER >FILE
#
# An example begins after a comment line "Example:" and ends where the comment ends. The source file
# includes the header first, which shows that the header compiles on its own. A header without an
# example is an error.

FNR == 1 {
  header = FILENAME
  sub(/.*\/include\//, "", header)
  print "#include <" header ">"
  print "#include <gpt2/generate.h>\n#include <gpt2/layer_norm.h>\n#include <gpt2/runtime.h>"
  print "#include <cstdio>\n#include <iostream>\n#include <vector>"
  print "using namespace gpt2;"
  print "extern const Model& model;\nextern const Tokenizer& tokenizer;"
}

/^ *\/\/\/ Example:$/ {
  print "void example_" ++examples "() {"
  inside = 1
  next
}

inside && /^ *\/\/\/   / {
  sub(/^ *\/\/\/   /, "")
  print
  next
}

inside {
  print "}"
  inside = 0
}

END {
  if (examples == 0) {
    print header ": no example" >"/dev/stderr"
    exit 1
  }
}
