// The grammar of .npar text. Lists and operator chains are flat loops, so that depth comes from brackets alone (bounded before parsing).
grammar Npar;

file: declaration* EOF;
expressionOnly: expression EOF; // the value of `--set key=value`

declaration: importDeclaration | layerDeclaration | modelDeclaration | trainDeclaration | planDeclaration | configDeclaration
           | familyDeclaration | machineDeclaration | dataDeclaration | optimizerDeclaration;
importDeclaration: IMPORT STRING;
layerDeclaration: LAYER name parameters? body;
modelDeclaration: MODEL name parameters? body;
trainDeclaration: TRAIN name parameters? FOR name '{' trainItem* '}';
trainItem: freezeItem | groupItem | setting;
freezeItem: FREEZE parameterPatterns (IF expression)?; // `freeze "*" except "head.*"`
groupItem: FOR parameterPatterns path? (IF expression)? '{' groupChange* '}'; // `for "*.bias" { decay 0 }`
parameterPatterns: STRING (',' STRING)* (EXCEPT STRING (',' STRING)*)?;
groupChange: name ('*' product | expression); // `lr * 10`; which words there are is checked afterwards
// `optimizer Lion(lr, ...) { state exp_avg = zeros  update(w, g) { ... } }`
optimizerDeclaration: OPTIMIZER name parameters '{' optimizerItem* '}';
optimizerItem: stateItem | requireStatement | updateItem;
stateItem: STATE stateName (',' stateName)* (':' list)? '=' expression; // `: []` for one number instead of one for each element
stateName: name path?;
updateItem: UPDATE '(' name (',' name)* ')' '{' (name '=' expression)* '}';
configDeclaration: CONFIG STRING FOR name parameters;
// How a configuration file of another program maps to a model: `take "n_embd" = width`. The words are checked afterwards.
familyDeclaration: FAMILY STRING FOR name '{' familyRule* '}';
familyRule: name STRING (',' STRING)* parameters? ('=' expression)? (ELSE expression)?;
planDeclaration: PLAN name parameters? (FOR name)? '{' planItem* '}'; // without `for` of any model that has its axes
// `machine here { product f32 { rate 100 GFLOP/s ... } ... }`. Figures and units are checked afterwards.
machineDeclaration: MACHINE name '{' (hostKind | figureGroup)* '}';
hostKind: name '-'? NUMBER figureUnit STRING?; // `hosts 8 of "dgx-h100"`; without the text a figure outside of any group
figureGroup: name name? '{' figure* '}';
figure: name ('-'? NUMBER figureUnit | WORD ('/' name)?); // `near 30 GB/s`, `near 30GB/s`
figureUnit: name ('/' name)? | '%';

// The sources of a model's inputs. The words are checked afterwards.
dataDeclaration: DATA name parameters? FOR name '{' dataItem* '}';
dataItem: dataSource | dataSteps | dataSplit | dataLast | dataOrder;
dataSource: name dataFile (',' dataFile)* dataFeed (',' dataFeed)*; // `stream "a.u16", "b.u16"  tokens, targets = shift(tokens, 1)`
dataFile: STRING (AS name)? (LENGTHS STRING)? (WEIGHT unary)?;
dataFeed: name ('=' expression)? (BELOW expression)?;
dataSteps: name ':' expression (',' expression)*; // `training: random_crop(pad = 4), flip`
dataSplit: SPLIT expression (',' expression)* (SEED expression)?; // `split 0.9, 0.1 seed 42`
dataLast: name LAST; // `drop last`
dataOrder: name (SEED expression)?; // `shuffled seed 7`

parameters: '(' (parameter (',' parameter)*)? ')';
parameter: name ('=' expression)?;

// The body of a model, a layer or a forward function. Whether a statement is allowed there is checked afterwards.
body: '{' statement* '}';
statement: axisStatement | inputStatement | paramStatement | stateStatement | updateStatement | logStatement | repeatStatement | lossStatement
         | metricStatement | outputStatement | requireStatement
         | ifStatement | underStatement | checkpointStatement | forwardStatement | returnStatement | assignment;
axisStatement: AXIS axisItem (',' axisItem)*;
axisItem: name ('=' expression)?;
inputStatement: INPUT name (',' name)* ':' name list;
paramStatement: PARAM name path? ':' list '=' expression;
stateStatement: STATE name path? ':' list '=' expression; // `state bias: [expert] = zeros`
updateStatement: UPDATE name '=' expression; // `update bias = bias + 0.001 * sign(mean(load, over = expert) - load)`
logStatement: LOG name '=' expression; // `log dead = sum(int(load == 0.0), over = expert)`
repeatStatement: REPEAT name '[' (name IN)? expression ']' path? body; // `repeat h[i in depth]`: i is the block's number
ifStatement: IF expression body (ELSE body)?; // opens no scope: what the chosen body declares is there afterwards
underStatement: UNDER STRING body; // a prefix of parameter paths
lossStatement: LOSS (name '=')? expression (WEIGHT expression)? (WHERE expression)?; // `loss mlm = ... weight 0.5 where ...`
metricStatement: METRIC name '=' expression (WHERE expression)?;
outputStatement: OUTPUT name ('=' expression)?;
requireStatement: REQUIRE expression ',' STRING;
forwardStatement: FORWARD '(' (name (',' name)*)? ')' ('=' expression | body);
returnStatement: RETURN expression;
assignment: name path? '=' expression;
path: AS STRING; // what paths and checkpoints call it, where that is no name of the text
// `rename "transformer.*" -> "*"`, `same "lm_head.weight" = wte.weight`; which words there are is checked afterwards.
checkpointStatement: CHECKPOINT '{' checkpointRule* '}';
checkpointRule: name STRING ('->' STRING | '=' expression)?;

setting: name expression;
planItem: meshItem | placeItem | splitItem | storeItem | recomputeItem | computeItem | keepItem | bucketItem | expertsItem | requireStatement | limitItem | setting;
meshItem: MESH axisItem (',' axisItem)*;
placeItem: PLACE inside | PLACE name (',' name)* inside?; // `place pp, dp inside tp`
inside: INSIDE name (',' name)*;
splitItem: SPLIT '{' placingRule* '}';
placingRule: ruleAxis (',' ruleAxis)* '->' name (',' name)* (BY schedule)? liveLimit? (STAGES list)? narrowing* (IF expression)?;
liveLimit: LIVE expression; // `by zb_auto(1) live 2 * pp`
ruleAxis: (name | STRING) name?; // `vocab pad`, `"row*" pad`
schedule: (name | WORD) ('(' expression ')')? | STRING; // a name with the number of chunks, or a file
narrowing: IN OP name | IN LAYER STRING;
storeItem: STORE '{' storeRule* '}';
storeRule: name (',' name)* '->' name (',' name)* STRING? NUMBER? (PER name)? (IF expression)?; // `optimizer -> host 0.5`, `-> file "folder"`
recomputeItem: RECOMPUTE (EVERY | OP)? expression; // `recompute every 2`, `recompute op attention`
computeItem: COMPUTE expression (',' precision)*;
precision: name expression HIERARCHICAL?; // `reduce f32`
keepItem: KEEP kept (',' kept)* IN expression;
kept: name | LOSS | STRING; // the loss is a word of models
bucketItem: BUCKET '='? (unary name | WORD); // `bucket 25 MB`, `bucket 25MB`
expertsItem: EXPERTS BUFFER expression; // `experts buffer 2.0`
limitItem: REQUIRE limit (',' limit)*;
limit: name '<=' (unary (name | '%') | WORD); // `memory <= 24 GiB`

expression: conjunction (OR conjunction)*;
conjunction: negation (AND negation)*;
negation: NOT* comparison;
comparison: sum (('==' | '!=' | '<' | '<=' | '>' | '>=') sum)?;
sum: product (('+' | '-') product)*;
product: unary (('*' | '/' | '%') unary)*;
unary: '-'* suffixed;
suffixed: primary suffix*;
suffix: '(' (argument (',' argument)*)? ')' | '[' argument (',' argument)* ']' | '.' name;
argument: expression ('=' expression)? lengthUnit?; // the left one of two is a name, checked afterwards
lengthUnit: EPOCH | EPOCHS | RUN; // `warmup = 0.1 epochs`, in learning rates only
primary: NUMBER | STRING | TRUE | FALSE | name | '(' expression (',' expression)* ')' | list;
list: '[' (expression (',' expression)*)? ']' | '[' expression FOR name IN expression ']'; // `[1.0 / (i + 1) for i in half]`

// Words of the rules that are names elsewhere, as in `layer Linear(in, out)`.
name: ID | IN | OP | BY | STORE | PER | RECOMPUTE | EVERY | COMPUTE | KEEP | BUCKET | STAGES | HIERARCHICAL | UNDER | CONFIG
    | AS | CHECKPOINT | FAMILY | ELSE | PLACE | INSIDE | MACHINE | DATA | BELOW | LENGTHS | WEIGHT | SEED | LAST | FREEZE | EXCEPT
    | WHERE | METRIC | OUTPUT | LIVE | OPTIMIZER | STATE | UPDATE | LOG | EXPERTS | BUFFER | EPOCH | EPOCHS | RUN;

IMPORT: 'import';
LAYER: 'layer';
MODEL: 'model';
TRAIN: 'train';
PLAN: 'plan';
CONFIG: 'config';
FOR: 'for';
AXIS: 'axis';
INPUT: 'input';
PARAM: 'param';
REPEAT: 'repeat';
UNDER: 'under';
AS: 'as';
CHECKPOINT: 'checkpoint';
FAMILY: 'family';
MACHINE: 'machine';
DATA: 'data';
BELOW: 'below';
LENGTHS: 'lengths';
WEIGHT: 'weight';
SEED: 'seed';
LAST: 'last';
FREEZE: 'freeze';
EXCEPT: 'except';
LOSS: 'loss';
WHERE: 'where';
METRIC: 'metric';
OUTPUT: 'output';
REQUIRE: 'require';
FORWARD: 'forward';
RETURN: 'return';
MESH: 'mesh';
PLACE: 'place';
INSIDE: 'inside';
SPLIT: 'split';
IF: 'if';
ELSE: 'else';
AND: 'and';
OR: 'or';
NOT: 'not';
TRUE: 'true';
FALSE: 'false';
IN: 'in';
OP: 'op';
BY: 'by';
STORE: 'store';
PER: 'per';
RECOMPUTE: 'recompute';
EVERY: 'every';
COMPUTE: 'compute';
KEEP: 'keep';
BUCKET: 'bucket';
STAGES: 'stages';
LIVE: 'live';
OPTIMIZER: 'optimizer';
STATE: 'state';
UPDATE: 'update';
LOG: 'log';
EXPERTS: 'experts';
BUFFER: 'buffer';
EPOCH: 'epoch';
EPOCHS: 'epochs';
RUN: 'run';
HIERARCHICAL: 'hierarchical';

NUMBER: [0-9]+ ('.' [0-9]+)? ([eE] [+-]? [0-9]+)?;
ID: [A-Za-z_] [A-Za-z_0-9]*;
WORD: [0-9]+ [A-Za-z_] [A-Za-z_0-9]*; // such as 1f1b
STRING: '"' ~["\r\n]* '"';
OPEN_STRING: '"' ~["\r\n]*; // reported by the parser's caller
COMMENT: '#' ~[\r\n]* -> channel(HIDDEN);
SPACE: [ \t\r\n]+ -> skip;
UNKNOWN: .;
