#!/usr/bin/env zsh
# Prints what an interactive zsh offers to complete a command line, one word a line:
#
#   complete.zsh COMPLETIONS LINE
#
# COMPLETIONS is the directory of the completions' files.
zmodload zsh/zpty
offers=$(mktemp)

# A shell on a terminal of its own. Every word that it offers goes through compadd. (The calls with
# -O, -A or -D only fill arrays.) zle-line-init is called as soon as it reads a line.
setup='
  fpath=('${(q)1}' $fpath)
  autoload -U compinit && compinit -u -D
  compadd() {
    if [[ ${@[1,(i)(-|--)]} != *-(O|A|D)\ * ]]; then
      local -a offered
      builtin compadd -A offered "$@"
      print -rl -- $offered >>'$offers'
    fi
    builtin compadd "$@"
  }
  zle-line-init() {
    BUFFER='${(qq)2}'
    CURSOR=$#BUFFER
    zle complete-word
    exit
  }
  zle -N zle-line-init'
zpty shell zsh -f -i
zpty -w shell "eval ${(qq)setup}"
while zpty -r shell output; do :; done
sed '/^$/d' $offers
rm $offers
