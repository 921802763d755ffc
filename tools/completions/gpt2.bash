# Completion of the gpt2 command for bash. The commands and options are those that --help-all lists, so
# that they are always those of the installed version.
#
# It is installed where bash-completion finds it. Without bash-completion, source this file.

# _gpt2_options HELP: prints the options that a help text lists.
_gpt2_options() {
  sed -nE 's/^  (-[a-zA-Z]),(--[a-z-]+).*/\1\n\2/p; s/^  (--?[a-z-]+).*/\1/p' <<<"$1"
}

# _gpt2_values HELP OPTION: prints the values that an option may have, if the help text lists them
# as in "--pooling mean|last". A word in capitals, such as MODEL, stands for other values.
_gpt2_values() {
  sed -nE "s/^  (-[a-zA-Z],)?$2 ([a-z0-9A-Z]+(\|[a-z0-9A-Z]+)+).*/\2/p" <<<"$1" | tr '|' '\n' |
    grep -v '^[A-Z]*$'
}

# _gpt2_models PROGRAM: prints the names of the models that are there.
_gpt2_models() { "$1" info 2>/dev/null | sed -n 's/^model  *//p'; }

_gpt2() {
  local program=$1 current=$2 previous=$3 command=generate help values
  local commands
  commands=$(COLUMNS=100 "$program" --help 2>/dev/null | sed -nE '/^Commands:/,/^$/s/^  ([a-z]+) .*/\1/p')
  COMPREPLY=()
  if [[ $COMP_CWORD -gt 1 && " ${commands//$'\n'/ } " == *" ${COMP_WORDS[1]} "* ]]; then
    command=${COMP_WORDS[1]}
  fi
  help=$(COLUMNS=100 "$program" "$command" --help-all 2>/dev/null)
  [[ $previous == -* ]] && values=$(_gpt2_values "$help" "$previous")
  if [[ $previous == -m || $previous == --model ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_gpt2_models "$program")" -- "$current"
      compgen -d -- "$current")
  elif [[ -n $values ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$values" -- "$current")
  elif [[ $current == -* ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$(_gpt2_options "$help")" -- "$current")
  elif [[ $COMP_CWORD -eq 1 ]]; then
    mapfile -t COMPREPLY < <(compgen -W "$commands" -- "$current")
  fi
}

complete -o default -F _gpt2 gpt2
