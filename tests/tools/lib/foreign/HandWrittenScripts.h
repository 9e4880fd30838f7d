// Scripts in the forms that people write, for the comparison with bash. All their words are known.
#pragma once

namespace npar::foreign::shell::test {

inline constexpr const char *handWrittenScripts[] = {
    // Flags in a command variable.
    "L=\"torchrun --nnodes 2\"\nC=\"pretrain_gpt.py --a 1 \\\n  --b 2\"\n$L $C\n",
    "CMD=\"torchrun pretrain_gpt.py --a 'x y' --b\"\neval $CMD\n",
    "CMD=\"torchrun pretrain_gpt.py --a 'x y'\"\n$CMD\n",
    "CMD='torchrun pretrain_gpt.py'\nCMD+=' --more 3'\neval \"$CMD --z\"\n",
    "run() { \"$@\"; }\nrun torchrun pretrain_gpt.py \"--a b\" c\n",
    "O='--x 1'\nP=\"$O --y 2\"\nO='--x 3'\ntorchrun pretrain_gpt.py $P $O \"$O\"\n",
    // Sizes by conditions.
    "S=${1:-7}\nif [ $S == 7 ]; then H=1; elif [ $S = 13 ]; then H=2; else H=3; fi\ntorchrun pretrain_gpt.py $H\n",
    "S=13b\ncase $S in 7b) H=1 ;; 13b|30b) H=2 ;; *) H=3 ;; esac\ntorchrun pretrain_gpt.py $H\n",
    "S=30\nif [[ $S -ge 30 && $S -lt 70 ]]; then H=5; fi\n[ -z \"$F\" ] && F=9\ntorchrun pretrain_gpt.py $H $F\n",
    "T=true\nif $T; then A=--on; fi\nif ! $T; then A=--off; fi\ntorchrun pretrain_gpt.py $A\n",
    "M=large\nif [[ $M == l* ]]; then H=1\nelse H=2\nfi\n[[ $M != s* ]] || H=4\ntorchrun pretrain_gpt.py $H\n",
    "case \"a.b\" in *.b) X=1;;& a*) X+=2;& zz) X+=3;; *) X+=4;; esac\ntorchrun pretrain_gpt.py $X\n",
    // Lists in lists.
    "A=(--a 1)\nB=(--b \"x y\")\nC=(\"${A[@]}\" \"${B[@]}\" --c)\ntorchrun pretrain_gpt.py \"${C[@]}\"\n",
    "A=(1 2 3)\nA+=(4 \"5 6\")\nA[1]=two\ntorchrun pretrain_gpt.py ${A[@]} \"${A[*]}\" ${#A[@]} \"${A[-1]}\"\n",
    "A=()\ntorchrun pretrain_gpt.py \"${A[@]}\" \"${A[@]:-none}\" x\"${A[@]}\"y\n",
    "N=2\nM=$(((N *= (N -= 30)) | 25)) A=(1 2 3) I=0\n((A[I++]++, A[-1] += 5))\ntorchrun pretrain_gpt.py $M $N $I ${A[*]}\n",
    "V= I=0\ncat > f.txt <<< \"${V:=x}$((I++))\"\n: <<< ${W:=y}\ntorchrun pretrain_gpt.py \"$V\" $W $I \"$(cat f.txt)\"\n",
    "I=3\necho $((I++)) > f$I.txt\n: $((I *= 2)) > g$I.txt\ntorchrun pretrain_gpt.py $I $(cat f4.txt)\n",
    "A=() X= B=(\"\")\ntorchrun pretrain_gpt.py a \"$X${A[@]}\" b \"$X$@\" c \"$X\"\"${A[@]}\" d \"${A[@]}${B[@]}\" e \"${X%a}${A[@]}\" f \"${X:-}${A[@]}\" g \"$X${A[*]}\" "
    "h \"$(echo)${@:1}\" i \"${A[*]}${A[@]}\" j \"$X${B[@]}\"\n",
    "A=one\ntorchrun pretrain_gpt.py ${B:-{1..3}{x,}$A}{y,z} ${A:+{}{x,} {x,}\n",
    "A=()\nA[3]=c A[5]=e\ntorchrun pretrain_gpt.py \"${A[@]:2}\" , \"${A[@]:4}\" , \"${A[@]:3:1}\" , \"${A[@]: -1}\" , \"${A[@]: -3:1}\" , \"${A[@]:6}\" , \"${A[@]:7}\" , \"${A[*]:0:5}\"\n",
    "A=(a b c d)\nunset 'A[1]'\nset -- \"${A[@]:1}\"\ntorchrun pretrain_gpt.py $# \"${@:2}\" , \"${@: -1}\" , \"${#A[@]}\" , \"${!A[@]}\"\n",
    "A=(V x)\nV=here\ntorchrun pretrain_gpt.py ${!A[0]} ${!A} \"${!A[@]}\"\n",
    "declare -A M=([small]=\"--l 2\" [large]=\"--l 24\")\nS=large\ntorchrun pretrain_gpt.py ${M[$S]} \"${M[small]}\" ${#M[@]}\n",
    "A=([2]=c [0]=a b)\ntorchrun pretrain_gpt.py \"${A[@]}\" ${!A[@]}\n",
    "A=(a b c d)\ntorchrun pretrain_gpt.py \"${A[@]:1:2}\" \"${A[@]/b/X}\" \"pre${A[@]}post\"\n",
    // Defaults and quotes.
    "N=${X:-\"2\"}\nP=${P:=4}\nQ=${Q-'a b'}\ntorchrun pretrain_gpt.py $N ${P} $Q \"$Q\" ${U:+set} ${P:+\"is set\"}\n",
    "A=\"q\"'r'\\ s\ntorchrun pretrain_gpt.py \"$A\" $A '' \"\" ${U-}''\n",
    "A=${B:-${C:-${D:-deep}}}\ntorchrun pretrain_gpt.py $A \"${B:-a  b}\" ${B:-a  b}\n",
    "A=path/to/file.tar.gz\ntorchrun pretrain_gpt.py ${A##*/} ${A%/*} ${A%%.*} ${A#*.} ${A/to/from} ${A//t/T} ${A:5:2} ${#A}\n",
    "A=$'tab\\there'\ntorchrun pretrain_gpt.py \"$A\" $A\n",
    "A=abc\ntorchrun pretrain_gpt.py ${A^} ${A^^} \"${A:(-2)}\" \"${A: -1}\" ${A:0:-1}\n",
    // Sums.
    "TP=2 PP=4\nW=$((TP * PP * (1 + 3) / 2))\n((W > 8)) && M=1\nlet \"X = W << 2\"\ntorchrun pretrain_gpt.py $W $M $X $((0x10 + 010 + "
    "2#101)) $((W % 3 ? 5 : 6))\n",
    "G=$(expr 8 \\* 4)\nH=$(expr 3 + 4)\nI=`expr $G / 2`\ntorchrun pretrain_gpt.py $G $H $I\n",
    "i=0\nwhile [ $i -lt 3 ]; do A=\"$A $i\"; i=$((i+1)); done\nuntil ((i == 5)); do ((i++)); done\ntorchrun pretrain_gpt.py $A $i\n",
    "N=5; N2=$((N ** 2)); ((N += 2, N2 -= 1)); A=(1 2 3); ((A[1] *= 5))\ntorchrun pretrain_gpt.py $N $N2 ${A[1]} $((A[0] + A[2])) $((-7 / "
    "2)) $((-7 % 3))\n",
    "for ((i = 0, j = 9; i < j; i += 2)); do S+=$i; done\ntorchrun pretrain_gpt.py $S\n",
    // Loops.
    "for x in a \"b c\" {1..3} {d,e}f; do S+=\"<$x>\"; done\ntorchrun pretrain_gpt.py \"$S\"\n",
    "for x in 1 2 3; do for y in 1 2 3; do [ $y = 2 ] && continue 2; [ $x = 3 ] && break 2; S+=$x$y,; done; done\ntorchrun pretrain_gpt.py "
    "$S\n",
    "f() { local a=$1; shift; echo \"$a:$#\"; return 3; }\nX=$(f 1 2 3)\nf >/dev/null || Y=$?\ntorchrun pretrain_gpt.py $X $Y\n",
    "set -- --a 1 --b\nwhile [[ $# -gt 0 ]]; do case $1 in --a) A=$2; shift 2;; *) R+=($1); shift;; esac; done\ntorchrun pretrain_gpt.py "
    "$A ${R[@]}\n",
    // Texts of several lines.
    "V=v\ncat > x.json <<EOF\n{ \"a\": $((1 + 1)), \"b\": \"$V\" }\nEOF\nX=$(cat x.json)\ntorchrun pretrain_gpt.py \"$X\"\n",
    "X=$(cat <<'EOF'\n--a $X\n  --b `y`\nEOF\n)\ntorchrun pretrain_gpt.py $X\n",
    "read -r -a L <<< \"1 2 3\"\ntorchrun pretrain_gpt.py ${L[1]} ${#L[@]}\n",
    "cat <<A <<B\nx\nA\ny\nB\ntorchrun pretrain_gpt.py after\n",
    "cat <<-E > f\n\t\ta\n\tE\ntorchrun pretrain_gpt.py \"$(cat f)\" # comment \\\n",
    // Commands in other commands.
    "bash -c 'true' ; srun -N 2 -l python -u pretrain_gpt.py --a \"b c\" 2>&1 | tee log\n",
    "true && torchrun pretrain_gpt.py 1 &\nwait\n{ false || X=2; } && (X=3; torchrun pretrain_gpt.py $X); torchrun pretrain_gpt.py $X\n",
    "A=0\nA=1 B=2 torchrun pretrain_gpt.py \"$A\"\nA=5\nf() { torchrun pretrain_gpt.py \"$A\"; }\nA=6 f\nf\n",
    "if false; then torchrun pretrain_gpt.py no; fi\nfalse; echo $?\n[ $? = 0 ] && torchrun pretrain_gpt.py yes\n",
    "torchrun pretrain_gpt.py a \\\n  # a comment ends it\\\n  --b\ntorchrun pretrain_gpt.py c\\\nd \"e\\\nf\" 'g\\\nh'\n",
    "torchrun pretrain_gpt.py a#b '#' \\# \"$#\" #c\n",
};

} // namespace npar::foreign::shell::test
