#!/bin/sh
# Trains every model of the shelf: sh models/train.sh DATA [NAME ...], or `make models DATA=...`
# DATA holds imdb/train.csv.gz and test.csv.gz (text,label), imdb/unlabelled.csv.gz (text), sst2/train.csv.gz
# (text,label), tatoeba/eng-fra.csv.gz and eng-cmn.csv.gz (source,target), chinese_sentiment/chnsenticorp_htl.csv.gz
# (text,label) and shopping_reviews.csv.gz (text,label,category), and poetry/tang-song.csv.gz (text). IMDB as words comes from Keras' cache.
set -eu
DATA=$1
shift
WANTED=${*:-all}
cd "$(dirname "$0")/.."
export PYTHONPATH="$PWD"
PYTHON=${PYTHON:-.venv/bin/python}

wants() { # name
    case " $WANTED " in *" all "* | *" $1 "*) ;; *) return 1 ;; esac
}

makes() { # name
    test -z "${SCRIPT:-}" && wants "$1"
}

train() { # name, then the arguments of `train`, or of SCRIPT, which takes the same (models/measure.py)
    name=$1
    shift
    wants "$name" || return 0
    # shellcheck disable=SC2086
    "$PYTHON" ${SCRIPT:--m transformer_viz train} --out "models/$name" --overwrite "$@"
}

IMDB="IMDB Large Movie Review Dataset, Maas et al., ACL 2011; 25,000 training and 25,000 test reviews"
WORDS="IMDB as keras.datasets.imdb has it: 25,000 training and 25,000 test reviews as words, Maas et al., ACL 2011"
PHRASES="SST-2, Socher et al., EMNLP 2013: 67,349 phrases from film reviews"
IMDB_TERMS="The publisher (Stanford AI Lab) states no licence and asks to cite the paper; the texts belong to their authors and are not included"
TATOEBA_TERMS="CC BY 2.0 FR. Sentences from tatoeba.org, pairs by www.manythings.org/anki"
MADE="None needed: made by a program"
STEPS=.cache/steps
mkdir -p "$STEPS"

# The shelf holds the matrices of these three in eight bits: store.write_model(..., dtype="int8").
train_block() { # name, then more arguments of `train`
    train "$1" --preset "$@" --data imdb-words --set truncation=beginning --epochs 3 --patience 2 \
        --schedule constant --warmup 0 --source "$WORDS" --licence "$IMDB_TERMS" \
        --examples "This film was not good at all" "I could not stop smiling what a lovely film" \
        "The plot was thin but the acting was not bad"
}
train_block attention-only --purpose "en=film reviews" "zh=影评"
train_block position-attention --purpose "en=film reviews" "zh=影评"
train_block single-block --purpose "en=film reviews, no positions" "zh=影评，没有位置编码" \
    --limits "en=With uniform attention, its accuracy falls only from 83.8% to 83.5%: it hardly depends on what its heads attend to." \
        "zh=注意力均匀时，准确率只从 83.8% 降到 83.5%：它几乎不依赖各头关注什么。"

QUICK="--set num_layers=1 dropout=0.0 embedding_dropout=0.0 --batch-size 64 --learning-rate 0.003 --beta-2 0.98"
# shellcheck disable=SC2086
train reverse-digits --preset vaswani-tiny --data reverse $QUICK --epochs 6 --source "Made by the task reverse" \
    --licence "$MADE" --examples "3 1 4 1 5 9 2 6" "2 0 2 6" "1 2 3 4 5 6 7 8 9" "7 7 7 1"
# shellcheck disable=SC2086
train dates --preset vaswani-tiny --data dates $QUICK --epochs 4 --source "Made by the task dates" \
    --licence "$MADE" --examples "March 3, 2021" "14 July 1989" "Nov 21 2026" "29 February 2000"
train induction --preset gpt-mini --data repeat --set num_layers=2 d_model=64 ffn_dim=0 max_len=64 \
    positions=sinusoidal scale_embedding=true tie_embeddings=false dropout=0.0 embedding_dropout=0.0 --epochs 4 \
    --learning-rate 0.003 --beta-2 0.98 --source "Made by the task repeat" --licence "$MADE" \
    --examples "k e y b o a r d k e y b o a" "a x m a x m a x" "t r a n s f o r m t r"

train translate-en-fr --preset vaswani-tiny --data "$DATA/tatoeba/eng-fra.csv.gz" --tokens bpe --keep-case \
    --set d_model=128 ffn_dim=512 num_heads=8 vocab_size=4000 max_len=48 norm=pre final_norm=true --epochs 7 \
    --batch-size 128 --learning-rate 0.002 --beta-2 0.98 --average 0.999 --label-smoothing 0.1 \
    --validation 0.01 --test-share 0.02 \
    --source "Tatoeba English-French sentence pairs, 167,130 rows; split by English sentence" \
    --licence "$TATOEBA_TERMS" --purpose "en=English → French" "zh=英语 → 法语" \
    --examples "I saw a black cat in the garden." "Where is the station?" "I love you." \
    "She didn't want to come." \
    --limits "en=The test sentences come from the same collection as those of the training, and 339 of their 3,337 translations also occur there. On captions of pictures, which are unlike these sentences, BLEU is only 9.6." \
        "zh=测试句与训练句来自同一语料，3,337 个测试译文中有 339 个也出现在训练集里。图片说明与这些句子差别很大，BLEU 值只有 9.6。"
train_pairs() { # name, the language whose sentences are apart, then more arguments of `train`
    pairs=$1
    apart=$2
    shift 2
    train "$pairs" --preset vaswani-tiny --data "$DATA/tatoeba/eng-cmn.csv.gz" --keep-case \
        --set d_model=128 ffn_dim=512 num_heads=8 vocab_size=4000 target_vocab_size=4000 tie_embeddings=false \
        norm=pre final_norm=true max_len=48 dropout=0.15 embedding_dropout=0.15 --epochs 16 --batch-size 64 \
        --learning-rate 0.002 --beta-2 0.98 --average 0.998 --label-smoothing 0.1 --validation 0.03 --test-share 0.05 \
        --source "Tatoeba English-Chinese sentence pairs, 29,055 rows, simplified; split by $apart sentence" \
        --licence "$TATOEBA_TERMS; converted to simplified characters by an earlier redistributor" "$@"
}
train_pairs translate-en-zh English --tokens bpe --target-tokens characters --purpose "en=English → Chinese" "zh=英语 → 中文" \
    --examples "I don't want to go to school today." "I love you." "Where is the station?" "He is older than me."
if makes translate-zh-en; then
    "$PYTHON" models/drop_stops.py "$DATA/tatoeba/eng-cmn.csv.gz" "$STEPS/no-stops.csv.gz"
fi
train_pairs translate-zh-en Chinese --tokens characters --target-tokens bpe --columns text=target target=source \
    --train-only "$STEPS/no-stops.csv.gz" \
    --purpose "en=Chinese → English" "zh=中文 → 英语" \
    --examples "我今天不想去学校。" "我爱你" "你爱我" "车站在哪里？" \
    --limits "en=The test sentences come from the same collection as those of the training, and 116 of their 1,474 translations also occur there. All sentences are short everyday ones." \
        "zh=测试句与训练句来自同一语料，1,474 个测试译文中有 116 个也出现在训练集里。所有句子都是简短的日常用语。"

# Three steps: a language model of Chinese reviews, in which each token is predicted from those before it; the same with
# [MASK], which also reads those after it; and a classifier, which also reads short sentences made by a program, most of
# them negated. The shipped models' first step was stopped after three of the five epochs that its schedule is for. The second
# has two parts. The reviews of books and milk, and a tenth of those of hotels, take no part in any of them.
CHINESE="ChnSentiCorp hotel reviews, Tan Songbo, but a tenth, and online reviews of hotels, tablets, fruit, shampoo and \
computers from github.com/SophonPlus/ChineseNlpCorpus: 45,354 reviews"
CHINESE_TERMS="None stated; compiled from web shops and Ctrip for research; the texts are not included"
HIDING="--pack --columns text=text --set output=tokens --batch-size 16 --learning-rate 0.0015 --warmup 100 --beta-2 0.98 \
--weight-decay 0.05 --clip-norm 1 --validation 0.01"
if makes reviews-zh || makes reviews-zh-masked; then
    "$PYTHON" models/chinese_reviews.py "$DATA/chinese_sentiment/chnsenticorp_htl.csv.gz" \
        "$DATA/chinese_sentiment/shopping_reviews.csv.gz" "$STEPS/chinese"
fi
if makes reviews-zh-masked; then
    "$PYTHON" -m transformer_viz train --out "$STEPS/reviews-zh-next" --overwrite --preset gpt-mini \
        --data "$STEPS/chinese/train.csv.gz" --pack --columns text=text --tokens characters \
        --set vocab_size=4500 max_len=256 d_model=256 num_layers=4 num_heads=8 ffn_dim=1024 positions=learned dropout=0.0 \
        embedding_dropout=0.0 --epochs 5 --batch-size 16 --learning-rate 0.002 --warmup 200 --beta-2 0.98 \
        --weight-decay 0.05 --clip-norm 1 --validation 0.01 --test-share 0
    # shellcheck disable=SC2086
    "$PYTHON" -m transformer_viz train --out "$STEPS/reviews-zh-masked" --overwrite --from "$STEPS/reviews-zh-next" \
        --data "$STEPS/chinese/train.csv.gz" $HIDING --epochs 3
fi
# shellcheck disable=SC2086
train reviews-zh-masked --from "$STEPS/reviews-zh-masked" --data "$STEPS/chinese/train.csv.gz" \
    --test "$STEPS/chinese/test.csv.gz" $HIDING --epochs 10 --precision bfloat16 \
    --source "$CHINESE" --licence "$CHINESE_TERMS" \
    --purpose "en=fills in characters of Chinese reviews" "zh=补全中文评论中的字" \
    --limits "en=It has read nothing but reviews, 45 million characters of 45,000 reviews, each sixteen times. It restores one character at a time." \
        "zh=它只读过四万五千篇评论，每篇十六遍，共四千五百万字；每次只补出一个字。" \
    --examples "房间很[MASK]净，服务也很好。" "这家酒店的[MASK]餐不错。" "水果很新[MASK]，下次还会买。"
if makes reviews-zh; then
    "$PYTHON" models/negate_chinese.py "$STEPS/chinese/train.csv.gz" "$STEPS/negated-zh.csv.gz" --count 12000 --seed 0
fi
train reviews-zh --from models/reviews-zh-masked --data "$STEPS/chinese/train.csv.gz" \
    --train-only "$STEPS/negated-zh.csv.gz" --test "$STEPS/chinese/test.csv.gz" --epochs 3 --batch-size 32 \
    --precision bfloat16 --learning-rate 0.0003 --weight-decay 0.05 --clip-norm 1 --beta-2 0.99 --average 0.998 --word-dropout 0.1 --seed 1 \
    --validation 0.05 --test-share 0 --label-names 0=差评 1=好评 \
    --set max_len=256 truncation=middle pooling=mean dropout=0.1 embedding_dropout=0.1 \
    --source "$CHINESE; 11,657 short sentences made by a program, three in five of them negated" \
    --licence "$CHINESE_TERMS" --purpose "en=judges Chinese reviews" "zh=判断中文评论的褒贬" \
    --limits "en=It has read reviews of hotels, tablets, fruit, shampoo and computers. On those of books its accuracy is 76.6%, on those of milk 74.6%: it has never read any. Of 30 sentences and their negations, ten of them negated twice, it reads both rightly in 25." \
        "zh=它读过酒店、平板电脑、水果、洗发水和电脑的评论。它从未读过书籍和牛奶的评论，准确率分别为 76.6% 和 74.6%。30 个句子及其否定句（其中 10 对是双重否定）中，两句都判对的有 25 对。" \
    --examples "这里并不吵。" "房间不干净，服务也不好。" "水果很新鲜，下次还会买。" "位置不错，就是早餐一般。"
# An hour on two free cores.
train poems-zh --preset gpt-mini --data "$DATA/poetry/tang-song.csv.gz" --columns text=text --pack --tokens characters \
    --set vocab_size=4500 max_len=128 d_model=128 num_layers=4 num_heads=4 ffn_dim=512 positions=sinusoidal \
    scale_embedding=true dropout=0.0 embedding_dropout=0.0 --epochs 6 --batch-size 32 --learning-rate 0.003 --warmup 300 \
    --beta-2 0.98 --weight-decay 0.05 --clip-norm 1 --average 0.998 --validation 0.01 --test-share 0.02 \
    --source "Tang and Song regulated verse from github.com/chinese-poetry/chinese-poetry: 81,727 poems of 4 or 8 lines of \
5 or 7 characters, in simplified characters" \
    --licence "MIT; the poems are in the public domain" \
    --purpose "en=continues classical Chinese poems" "zh=续写唐诗宋诗" --examples \
    "白日依山尽，黄河入海流。欲穷千里目，更上一层" "床前明月光，疑是地上霜。举头望明月，低头思故" "春风又绿江南岸，"

REVIEWS="IMDB Large Movie Review Dataset, Maas et al., ACL 2011: 25,000 training and 49,891 unlabelled reviews; \
HTML line breaks read as white space"
# The first of these trainings would take a day on two cores. The shipped models were made with these settings in PyTorch
# on a GPU, but for the last step of imdb-sentiment; reviews-masked from an earlier reviews-next, without same-token heads
# (docs/en/measured.md). The test figures of reviews-next and reviews-masked are those of the first 2,500 test reviews.
if makes reviews-next; then
    "$PYTHON" models/repeat_words.py "$DATA/imdb/train.csv.gz" "$STEPS/repeats.csv.gz"
fi
train reviews-next --preset gpt-mini --data "$DATA/imdb/train.csv.gz" "$DATA/imdb/unlabelled.csv.gz" \
    --train-only "$STEPS/repeats.csv.gz" --test "$DATA/imdb/test.csv.gz" --pack --columns text=text --tokens bpe --keep-case \
    --set vocab_size=8000 max_len=256 d_model=256 num_layers=4 num_heads=8 ffn_dim=1024 positions=sinusoidal \
    scale_embedding=true dropout=0.0 embedding_dropout=0.0 --epochs 14 --precision bfloat16 --batch-size 128 \
    --learning-rate 0.004 --warmup 500 --beta-2 0.99 --weight-decay 0.1 --clip-norm 1 --validation 0.02 \
    --same-token-heads 1 \
    --source "$REVIEWS; 16,000 texts made by a program, in which random words recur" --licence "$IMDB_TERMS" \
    --purpose "en=continues film reviews" "zh=续写影评" --examples "The film was not good, but the acting was" \
    "My friend Fenwick Vandermeer hated it. I must say that Fenwick" \
    "I saw it because of Meryl Streep. As always, Meryl" "I could not stop" \
    --probes "The film was not good, but the acting was not bad at all." \
    "Wong Kar-wai made this film. I have seen every film by Wong Kar-wai." \
    "The movie that my friends and I saw last night was boring." \
    --limits "en=It has read nothing but film reviews: what it writes about films and people is made up." \
        "zh=它只读过影评：它写到的影片和人物都是编造的。"
train reviews-masked --from models/reviews-next --data "$DATA/imdb/train.csv.gz" "$DATA/imdb/unlabelled.csv.gz" \
    --test "$DATA/imdb/test.csv.gz" --pack --columns text=text --set output=tokens --epochs 16 --precision bfloat16 \
    --batch-size 128 --learning-rate 0.003 --warmup 500 --beta-2 0.98 --weight-decay 0.05 --clip-norm 1 \
    --validation 0.02 --source "$REVIEWS" --licence "$IMDB_TERMS" \
    --purpose "en=fills in words of film reviews" "zh=补全影评中的词" \
    --examples "The acting was [MASK], but the plot was boring." "This is the [MASK] film I have ever seen." \
    "She [MASK] him because he had killed her brother." "The music is beautiful and the pictures [MASK] wonderful." \
    --limits "en=It has read nothing but film reviews. It restores single tokens, which may be parts of words." \
        "zh=它只读过影评，每次只补出一个词元，而一个词元可能只是词的一部分。"
# Three steps. The first learns from true labels alone, three times over; the second once more from these and from 38,000
# unlabelled reviews whose label a linear model is sure of; the third once more from the true labels and from short
# sentences, most of them negated. The phrases teach single sentences. All steps hold out the same rows, which the linear
# model has not read either.
SENTIMENT="--batch-size 32 --learning-rate 0.0002 --weight-decay 0.05 --clip-norm 1 --beta-2 0.99 --average 0.998 \
--word-dropout 0.1 --precision bfloat16 --seed 1 --test-share 0 --label-names 0=negative 1=positive \
--set max_len=512 truncation=middle pooling=mean embedding_dropout=0.1"
LABELLED="$DATA/imdb/train.csv.gz $DATA/sst2/train.csv.gz"
if makes imdb-sentiment; then
    # shellcheck disable=SC2086
    "$PYTHON" -m transformer_viz train --out "$STEPS/imdb-labelled" --overwrite --from models/reviews-masked \
        --data $LABELLED --epochs 3 $SENTIMENT dropout=0.2
    "$PYTHON" models/guess_labels.py "$DATA/imdb/train.csv.gz" "$DATA/imdb/unlabelled.csv.gz" \
        "$STEPS/guessed.csv.gz" --beside "$DATA/sst2/train.csv.gz" --seed 1
    # shellcheck disable=SC2086
    "$PYTHON" -m transformer_viz train --out "$STEPS/imdb-guessed" --overwrite --from "$STEPS/imdb-labelled" \
        --data $LABELLED --train-only "$STEPS/guessed.csv.gz" --epochs 1 $SENTIMENT dropout=0.1
    "$PYTHON" models/negate_words.py "$DATA/sst2/train.csv.gz" "$DATA/imdb/train.csv.gz" "$STEPS/negated.csv.gz"
fi
# shellcheck disable=SC2086
train imdb-sentiment --from "$STEPS/imdb-guessed" --data $LABELLED --train-only "$STEPS/negated.csv.gz" \
    --test "$DATA/imdb/test.csv.gz" --epochs 1 $SENTIMENT dropout=0.1 \
    --source "$IMDB; its unlabelled reviews; $PHRASES; 9,000 short sentences made by a program, two thirds of them negated" \
    --licence "$IMDB_TERMS; none is stated for the phrases" \
    --purpose "en=judges film reviews" "zh=判断影评的褒贬" \
    --examples "This film was not good at all." \
    "The plot is thin, but the acting is wonderful and I loved every minute." \
    "The acting is wonderful, but the plot is thin and I was bored." \
    "It is not perfect, but it is a wonderful film." \
    --limits "en=It understands “not good” and “not bad”, but not every negation: of 30 sentences and their negations, it reads both rightly in 26. On single sentences about films (SST-2, validation set) its accuracy is 87.0%, its calibration error 2.7%." \
        "zh=“not good”和“not bad”它都能理解，但并非所有否定句都行：30 个句子及其否定句中，两句都判对的有 26 对。在关于电影的单句（SST-2 验证集）上，准确率为 87.0%，校准误差为 2.7%。"
if makes reviews-next; then "$PYTHON" models/keep_opening.py; fi
