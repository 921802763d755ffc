# Completion of the gpt2 command for fish. The commands and options are those that --help-all lists, so
# that they are always those of the installed version.

# Prints "name<tab>description" for each command.
function __gpt2_commands
    COLUMNS=100 gpt2 --help 2>/dev/null |
        string match -rg '^  ([a-z]+ +[a-z].*)' | string replace -r ' +' \t
end

# The command whose options are to be completed.
function __gpt2_command
    set -l words (commandline -opc)
    set -l names (__gpt2_commands | string split -f1 \t)
    contains -- "$words[2]" $names; and echo $words[2]; or echo generate
end

# Prints "--option<tab>description" for each option of that command.
function __gpt2_options
    COLUMNS=100 gpt2 (__gpt2_command) --help-all 2>/dev/null |
        string replace -rf '^  (?:(-[a-zA-Z]),)?(--?[a-z-]+)(?: \S+)? *(.*)$' '$2\t$3'
end

# Prints the values that the option before the cursor may have, if the help text lists them as in
# "--pooling mean|last". A word in capitals stands for other values.
function __gpt2_values
    set -l option (commandline -opc)[-1]
    COLUMNS=100 gpt2 (__gpt2_command) --help-all 2>/dev/null |
        string replace -rf -- '^  (?:-[a-zA-Z],)?'$option' (\w+(?:\|\w+)+).*$' '$1' |
        string split '|' | string match -rv '^[A-Z]+$'
end

# Prints the names of the models that are there.
function __gpt2_models
    gpt2 info 2>/dev/null | string match -rg '^model +(.*)'
end

complete -c gpt2 -n 'test (count (commandline -opc)) -eq 1' -a '(__gpt2_commands)'
complete -c gpt2 -n 'string match -q -- "-*" (commandline -ct)' -a '(__gpt2_options)'
complete -c gpt2 -f -a '(__gpt2_values)' \
    -n 'string match -q -- "-*" (commandline -opc)[-1]; and count (__gpt2_values) >/dev/null'
complete -c gpt2 -n 'contains -- (commandline -opc)[-1] -m --model' -a '(__gpt2_models)'
