"""Six small modules described in six languages, and a question about each in the same language."""

from __future__ import annotations

TOPICS = ("cache", "retry", "login", "backup", "billing", "sorting")

TEXTS: dict[str, tuple[tuple[str, str], ...]] = {
    "german": (
        (
            "Der Zwischenspeicher hält die zuletzt gelesenen Datensätze. Ist er voll, wird der älteste verdrängt.",
            "welcher Datensatz wird verdrängt, wenn der Zwischenspeicher voll ist",
        ),
        (
            "Fehlgeschlagene Anfragen werden wiederholt. Die Wartezeit verdoppelt sich nach jedem Versuch.",
            "wie lange wird nach fehlgeschlagenen Anfragen gewartet",
        ),
        (
            "Prüft Benutzername und Kennwort bei der Anmeldung und öffnet eine Sitzung.",
            "Anmeldung mit Kennwort prüfen",
        ),
        (
            "Sichert die Datenbank jede Nacht auf einen zweiten Rechner und löscht alte Sicherungen nach einem Monat.",
            "wann werden alte Sicherungen gelöscht",
        ),
        (
            "Stellt Rechnungen aus und berechnet die Umsatzsteuer nach dem Land des Kunden.",
            "Umsatzsteuer der Rechnung berechnen",
        ),
        (
            "Ordnet Namen nach dem Alphabet. Umlaute stehen bei ihrem Grundbuchstaben.",
            "wo stehen Umlaute im Alphabet",
        ),
    ),
    "french": (
        (
            "La mémoire tampon garde les enregistrements lus. Quand elle est pleine, le plus ancien est évincé.",
            "quel enregistrement est évincé quand la mémoire tampon est pleine",
        ),
        (
            "Les requêtes échouées sont relancées. Le délai double après chaque tentative.",
            "délai entre deux tentatives d'une requête échouée",
        ),
        (
            "Vérifie le nom d'utilisateur et le mot de passe, puis ouvre une session.",
            "vérification du mot de passe à l'ouverture de session",
        ),
        (
            "Sauvegarde la base chaque nuit sur une autre machine et efface les sauvegardes de plus d'un mois.",
            "quand les vieilles sauvegardes sont-elles effacées",
        ),
        (
            "Établit les factures et calcule la taxe selon le pays du client.",
            "calcul de la taxe sur les factures",
        ),
        (
            "Range les noms par ordre alphabétique. Les lettres accentuées suivent leur lettre de base.",
            "place des lettres accentuées dans l'ordre alphabétique",
        ),
    ),
    "spanish": (
        (
            "La memoria intermedia guarda los registros leídos hace poco. Cuando está llena se expulsa el más antiguo.",
            "qué registro se expulsa cuando la memoria intermedia está llena",
        ),
        (
            "Las peticiones fallidas se repiten. La espera se duplica después de cada intento.",
            "espera entre intentos de una petición fallida",
        ),
        (
            "Comprueba el usuario y la contraseña y abre una sesión.",
            "comprobar la contraseña al abrir sesión",
        ),
        (
            "Copia la base de datos cada noche a otra máquina y borra las copias con más de un mes.",
            "cuándo se borran las copias viejas de la base de datos",
        ),
        (
            "Emite facturas y calcula el impuesto según el país del cliente.",
            "impuesto de las facturas según el país",
        ),
        (
            "Ordena los nombres por el alfabeto. La eñe va después de la ene.",
            "orden de la eñe en el alfabeto",
        ),
    ),
    "russian": (
        (
            "Буфер хранит недавно прочитанные записи. Когда он заполнен, вытесняется самая старая запись.",
            "какая запись вытесняется когда буфер заполнен",
        ),
        (
            "Неудачные запросы повторяются. Пауза удваивается после каждой попытки.",
            "пауза после неудачной попытки запроса",
        ),
        ("Проверяет имя пользователя и пароль при входе и открывает сеанс.", "проверка пароль при входе"),
        (
            "Каждую ночь копирует базу данных на другую машину и удаляет копии старше месяца.",
            "когда удаляет старые копии базы",
        ),
        ("Выставляет счета и вычисляет налог по стране покупателя.", "вычисляет налог для счета"),
        ("Упорядочивает имена по алфавиту. Буква ё стоит после е.", "где стоит буква ё в алфавите"),
    ),
    "chinese": (
        ("缓存保存最近读取的记录。缓存满时，最旧的记录会被淘汰。", "缓存满时淘汰哪条记录"),
        ("失败的请求会重试。每次尝试之后等待时间加倍。", "请求失败之后的等待时间"),
        ("登录时检查用户名和密码，然后打开会话。", "登录时检查密码"),
        ("每天夜里把数据库备份到另一台机器，并删除超过一个月的备份。", "什么时候删除旧的备份"),
        ("开具发票，并按客户所在的国家计算税金。", "计算发票的税金"),
        ("按拼音给名字排序。声调不影响顺序。", "名字按拼音排序"),
    ),
    "japanese": (
        (
            "最近読んだレコードをキャッシュに保存する。満杯になると一番古いレコードを追い出す。",
            "キャッシュが満杯のときに追い出すレコード",
        ),
        ("失敗したリクエストを再試行する。待ち時間は試行ごとに倍になる。", "失敗したリクエストの待ち時間"),
        ("ログインのときにユーザー名とパスワードを確認し、セッションを開く。", "パスワードの確認"),
        (
            "毎晩データベースを別のマシンにバックアップし、一か月より古いバックアップを削除する。",
            "古いバックアップの削除",
        ),
        ("請求書を作成し、顧客の国に応じて税金を計算する。", "請求書の税金の計算"),
        ("名前を五十音順に並べる。濁点は順序に影響しない。", "名前を五十音順に並べる"),
    ),
}


def code_files(language: str) -> dict[str, str]:
    """Returns one module for each topic. Only the comment describes it; the names say nothing."""
    return {
        f"src/part{number}.py": f'"""{text}"""\n\n\ndef run{number}(value):\n    return value + {number}\n'
        for number, (text, _) in enumerate(TEXTS[language])
    }


def documents(language: str) -> dict[str, str]:
    return {f"docs/page{number}.md": f"# {number}\n\n{text}\n" for number, (text, _) in enumerate(TEXTS[language])}
